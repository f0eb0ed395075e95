// Render makes a worker's user data as release 1.8 of the bootstrap provider does, whose package for that is
// internal: so this is built within a copy of that module.
//
// It reads orders from standard input, one JSON object a line, and answers each with one line.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/internal/cloudinit"
)

type order struct {
	// Input has the fields of the provider's own type.
	Input             cloudinit.BaseUserData `json:"input"`
	JoinConfiguration string                 `json:"joinConfiguration"`
}

type answer struct {
	UserData []byte `json:"userData,omitempty"`
	Error    string `json:"error,omitempty"`
}

func main() {
	log.SetFlags(0)
	orders := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for orders.More() {
		var wanted order
		if err := orders.Decode(&wanted); err != nil {
			log.Fatal(err)
		}
		input := &cloudinit.NodeInput{BaseUserData: wanted.Input, JoinConfiguration: wanted.JoinConfiguration}
		made, err := cloudinit.NewNode(input)
		reply := answer{UserData: made}
		if err != nil {
			reply = answer{Error: err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			log.Fatal(err)
		}
	}
}
