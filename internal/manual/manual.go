// Package manual is what people do where Ebbtide does not: prose that each family of systems gives for its own nodes, and the
// printed run book shows.
package manual

import "ebbtide/internal/plan"

// Endpoint is where a person reaches a system and as whom. It never holds a secret.
type Endpoint struct {
	Address        string // as it is typed: a URL, host:port
	User           string
	SecretLocation string // where the password or key is kept, in words
	Proof          string // what shows that it is the right system: its certificate's thumbprint, its host key's fingerprint
}

// Procedure is what a person does to a node when Ebbtide does not. It never holds a secret.
type Procedure struct {
	Do    map[plan.Verb][]Instruction
	Off   []Instruction // how to see that it is really off
	On    []Instruction // how to see that it is on
	Clean []Instruction // of a cache: how to see in what mode it is and that nothing is left in it
	Back  []Instruction // of what is protected: how to see that it is as it was before
}

// Instruction is one thing to do. With both, Say tells where or when Type is typed.
type Instruction struct {
	Say  string
	Type string // a command, as it is typed
}
