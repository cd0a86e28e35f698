package cli

import "github.com/spf13/cobra"

func (a *app) demo() *cobra.Command   { return &cobra.Command{Use: "demo"} }
func (a *app) daemon() *cobra.Command { return &cobra.Command{Use: "daemon"} }
func (a *app) status() *cobra.Command { return &cobra.Command{Use: "status"} }
func (a *app) order(verb, doc string) *cobra.Command {
	return &cobra.Command{Use: verb, Short: doc}
}
func (a *app) nodeOrder(verb, doc string) *cobra.Command {
	return &cobra.Command{Use: verb + " NODE", Short: doc}
}
