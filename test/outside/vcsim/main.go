// Command vcsim is govmomi's vCenter simulator as it comes: nothing of it is ours but the flags.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/vmware/govmomi/simulator"
)

func main() {
	listen := flag.String("l", "127.0.0.1:8989", "where it listens")
	vms := flag.Int("vm", 5, "VMs of each resource pool")
	flag.Parse()
	model := simulator.VPX()
	model.Host, model.Machine = 0, *vms
	if err := model.Create(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer model.Remove()
	model.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword("user", "pass")}
	model.Service.TLS = new(tls.Config)
	model.Service.RegisterEndpoints = true
	s := model.Service.NewServer()
	defer s.Close()
	fmt.Println(s.URL)
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	<-end
}
