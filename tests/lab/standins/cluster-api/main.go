// Cluster-api renders user data with the bootstrap provider's own packages.
//
// It reads orders from standard input, one JSON object a line, and answers each with one line.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"log"
	"os"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"
)

type order struct {
	// Format is cloud-config or ignition.
	Format string `json:"format"`
	// Machine is worker, another for a machine that joins the control plane, or first for the one that makes it.
	Machine string `json:"machine"`
	// Input has the fields of the provider's own type.
	Input             cloudinit.BaseUserData `json:"input"`
	JoinConfiguration string                 `json:"joinConfiguration"`
	// AdditionalConfig is Container Linux Config to merge into Ignition.
	AdditionalConfig string `json:"additionalConfig"`
}

type answer struct {
	UserData []byte `json:"userData,omitempty"`
	Error    string `json:"error,omitempty"`
}

var errUnknown = errors.New("no such format or machine")

func main() {
	log.SetFlags(0)
	orders := json.NewDecoder(bufio.NewReader(os.Stdin))
	orders.DisallowUnknownFields()
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	for orders.More() {
		var wanted order
		if err := orders.Decode(&wanted); err != nil {
			log.Fatal(err)
		}
		made, err := render(wanted)
		reply := answer{UserData: made}
		if err != nil {
			reply = answer{Error: err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			log.Fatal(err)
		}
		if err := out.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}

func render(wanted order) ([]byte, error) {
	switch wanted.Format {
	case "cloud-config":
		return renderCloudConfig(wanted)
	case "ignition":
		return renderIgnition(wanted)
	}
	return nil, errUnknown
}

func renderCloudConfig(wanted order) ([]byte, error) {
	switch wanted.Machine {
	case "worker":
		return cloudinit.NewNode(worker(wanted))
	case "another":
		return cloudinit.NewJoinControlPlane(another(wanted))
	case "first":
		return cloudinit.NewInitControlPlane(first(wanted))
	}
	return nil, errUnknown
}

func renderIgnition(wanted order) ([]byte, error) {
	spec := &bootstrapv1.IgnitionSpec{}
	spec.ContainerLinuxConfig.AdditionalConfig = wanted.AdditionalConfig
	var made []byte
	var err error
	switch wanted.Machine {
	case "worker":
		made, _, err = ignition.NewNode(&ignition.NodeInput{NodeInput: worker(wanted), Ignition: spec})
	case "another":
		input := &ignition.ControlPlaneJoinInput{ControlPlaneJoinInput: another(wanted), Ignition: spec}
		made, _, err = ignition.NewJoinControlPlane(input)
	case "first":
		input := &ignition.ControlPlaneInput{ControlPlaneInput: first(wanted), Ignition: spec}
		made, _, err = ignition.NewInitControlPlane(input)
	default:
		err = errUnknown
	}
	return made, err
}

func worker(wanted order) *cloudinit.NodeInput {
	return &cloudinit.NodeInput{BaseUserData: wanted.Input, JoinConfiguration: wanted.JoinConfiguration}
}

func another(wanted order) *cloudinit.ControlPlaneJoinInput {
	return &cloudinit.ControlPlaneJoinInput{
		BaseUserData:      wanted.Input,
		JoinConfiguration: wanted.JoinConfiguration,
	}
}

func first(wanted order) *cloudinit.ControlPlaneInput {
	return &cloudinit.ControlPlaneInput{BaseUserData: wanted.Input, InitConfiguration: wanted.JoinConfiguration}
}
