package main

import "encoding/json"

// The documents of schema 2, as the API's description has them. What is not in them is refused.

type version struct {
	Major, Minor int
}

type policy struct {
	Type     string
	Settings json.RawMessage `json:",omitempty"`
}

type route struct {
	NextHop, DestinationPrefix string
	Metric                     uint16 `json:",omitempty"`
}

type subnet struct {
	IpAddressPrefix string
	Policies        []policy `json:",omitempty"`
	Routes          []route  `json:",omitempty"`
	Flags           uint32   `json:",omitempty"`
}

type ipam struct {
	Type    string   `json:",omitempty"`
	Subnets []subnet `json:",omitempty"`
}

type network struct {
	ID            string
	Name          string
	Type          string          `json:",omitempty"`
	Policies      []policy        `json:",omitempty"`
	MacPool       json.RawMessage `json:",omitempty"`
	Dns           json.RawMessage `json:",omitempty"`
	Ipams         []ipam          `json:",omitempty"`
	Flags         uint32          `json:",omitempty"`
	Health        json.RawMessage `json:",omitempty"`
	SchemaVersion version
}

type ipConfiguration struct {
	IpAddress    string
	PrefixLength uint8 `json:",omitempty"`
}

type endpoint struct {
	ID                   string
	Name                 string            `json:",omitempty"`
	HostComputeNetwork   string            `json:",omitempty"`
	HostComputeNamespace string            `json:",omitempty"`
	Policies             []policy          `json:",omitempty"`
	IpConfigurations     []ipConfiguration `json:",omitempty"`
	Dns                  json.RawMessage   `json:",omitempty"`
	Routes               []route           `json:",omitempty"`
	MacAddress           string            `json:",omitempty"`
	Flags                uint32            `json:",omitempty"`
	Health               json.RawMessage   `json:",omitempty"`
	SchemaVersion        version
}

type resource struct {
	Type string
	Data json.RawMessage
}

type namespace struct {
	ID            string
	NamespaceId   uint32     `json:",omitempty"`
	Type          string     `json:",omitempty"`
	Resources     []resource `json:",omitempty"`
	SchemaVersion version
}

type portMapping struct {
	Protocol         uint32 `json:",omitempty"`
	InternalPort     uint16 `json:",omitempty"`
	ExternalPort     uint16 `json:",omitempty"`
	DistributionType uint32 `json:",omitempty"`
	Flags            uint32 `json:",omitempty"`
}

type loadBalancer struct {
	ID                   string
	HostComputeEndpoints []string      `json:",omitempty"`
	SourceVIP            string        `json:",omitempty"`
	FrontendVIPs         []string      `json:",omitempty"`
	PortMappings         []portMapping `json:",omitempty"`
	SchemaVersion        version
	Flags                uint32 `json:",omitempty"`
}

type modification struct {
	ResourceType, RequestType string
	Settings                  json.RawMessage
}
