package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

type hresult uint32

const (
	ok                   hresult = 0
	invalidArgument      hresult = 0x80070057
	elementNotFound      hresult = 0x80070490
	notImplemented       hresult = 0x80004001
	networkNotFound      hresult = 0x803B0001
	endpointNotFound     hresult = 0x803B0002
	adapterNotFound      hresult = 0x803B0006
	invalidNetwork       hresult = 0x803B000A
	invalidNetworkType   hresult = 0x803B000B
	invalidPolicy        hresult = 0x803B000D
	networkAlreadyExists hresult = 0x803B0010
	portAlreadyExists    hresult = 0x803B0013
	alreadyAttached      hresult = 0x803B0014
	invalidJSON          hresult = 0x803B001B
	hasReferences        hresult = 0x803B002C
	addressInvalid       hresult = 0x803B002F
	invalidSubnet        hresult = 0x803B0032
)

var (
	types          = []string{"NAT", "Transparent", "L2Bridge", "L2Tunnel", "ICS", "Private", "Overlay"}
	onAnAdapter    = []string{"L2Bridge", "L2Tunnel", "Overlay"}
	smallestVSID   = uint32(4096)
	windowsVersion = `{"Success":true,"Output":{"Major":15,"Minor":4}}`
)

type service struct {
	mutex sync.Mutex
	kept  *kept
	made  uint32
}

// call does what is asked by the name of the export, without Hcn, and writes down that it was.
func (hns *service) call(name, id, of, text string) (string, string, hresult) {
	hns.mutex.Lock()
	defer hns.mutex.Unlock()
	made, answer, code := id, "", hns.fault(name)
	if code == ok {
		made, answer, code = hns.do(name, id, of, text)
	}
	hns.note(name, id, text, code)
	if code != ok {
		return made, fmt.Sprintf(`{"Success":false,"Error":"%s","ErrorCode":%d}`, name, uint32(code)), code
	}
	return made, answer, code
}

func (hns *service) do(name, id, of, text string) (string, string, hresult) {
	reads := strings.HasPrefix(name, "Enumerate") || strings.HasPrefix(name, "Open") || strings.HasPrefix(name, "Query")
	if reads {
		answer, code := hns.read(name, id, text)
		return id, answer, code
	}
	if strings.Trim(id, "0-") == "" {
		id = newID()
	}
	answer, code := "", ok
	switch name {
	case "CreateNetwork":
		code = hns.createNetwork(id, text)
	case "DeleteNetwork":
		code = hns.deleteNetwork(id)
	case "CreateEndpoint":
		code = hns.createEndpoint(id, of, text)
	case "ModifyEndpoint":
		code = hns.modifyEndpoint(id, text)
	case "DeleteEndpoint":
		code = hns.deleteEndpoint(id)
	case "CreateNamespace":
		code = hns.createNamespace(id, text)
	case "ModifyNamespace":
		code = hns.modifyNamespace(id, text)
	case "DeleteNamespace":
		code = hns.deleteNamespace(id)
	case "CreateLoadBalancer":
		code = hns.createLoadBalancer(id, text)
	case "DeleteLoadBalancer":
		code = hns.deleteLoadBalancer(id)
	case "HNSCall":
		answer = hns.hnsCall(of, text)
	default:
		code = notImplemented
	}
	if code == ok && name != "HNSCall" {
		if err := hns.kept.save(); err != nil {
			return id, "", invalidArgument
		}
	}
	return id, answer, code
}

// Reading

func (hns *service) read(name, id, text string) (string, hresult) {
	switch name {
	case "EnumerateNetworks":
		return matching(hns.kept.Networks, text, func(each *network) string { return each.ID })
	case "EnumerateEndpoints":
		return matching(hns.kept.Endpoints, text, func(each *endpoint) string { return each.ID })
	case "EnumerateNamespaces":
		return matching(hns.kept.Namespaces, text, func(each *namespace) string { return each.ID })
	case "EnumerateLoadBalancers":
		return matching(hns.kept.LoadBalancers, text, func(each *loadBalancer) string { return each.ID })
	case "OpenNetwork", "QueryNetworkProperties":
		return told(shown(hns.kept.network(id)), networkNotFound)
	case "OpenEndpoint", "QueryEndpointProperties":
		return told(hns.kept.endpoint(id), endpointNotFound)
	case "OpenNamespace", "QueryNamespaceProperties":
		return told(hns.kept.namespace(id), elementNotFound)
	case "OpenLoadBalancer", "QueryLoadBalancerProperties":
		return told(hns.kept.loadBalancer(id), elementNotFound)
	}
	return "", notImplemented
}

// matching lists identifiers, of those that have what the query's filter names.
func matching[T any](all []*T, query string, id func(*T) string) (string, hresult) {
	var asked struct {
		SchemaVersion version
		Flags         uint32
		Filter        string
	}
	filter := map[string]string{}
	if query != "" && json.Unmarshal([]byte(query), &asked) != nil {
		return "", invalidJSON
	}
	if asked.Filter != "" && json.Unmarshal([]byte(asked.Filter), &filter) != nil {
		return "", invalidJSON
	}
	found := []string{}
	for _, each := range all {
		fields := map[string]any{}
		text, _ := json.Marshal(each)
		_ = json.Unmarshal(text, &fields)
		if has(fields, filter) {
			found = append(found, id(each))
		}
	}
	text, _ := json.Marshal(found)
	return string(text), ok
}

func has(fields map[string]any, filter map[string]string) bool {
	for name, value := range filter {
		if name == "VirtualNetwork" { // of the first schema, which callers still ask by
			name = "HostComputeNetwork"
		}
		if found, _ := fields[name].(string); !strings.EqualFold(found, value) {
			return false
		}
	}
	return true
}

// shown is a network as the service tells it: NAT is its zero, and goes unsaid; so does what kind of IPAM it is.
func shown(it *network) *network {
	if it == nil {
		return nil
	}
	told := *it
	if told.Type == "NAT" {
		told.Type = ""
	}
	told.Ipams = slices.Clone(it.Ipams)
	for index := range told.Ipams {
		told.Ipams[index].Type = ""
	}
	return &told
}

func told[T any](it *T, missing hresult) (string, hresult) {
	if it == nil {
		return "", missing
	}
	text, err := json.Marshal(it)
	if err != nil {
		return "", invalidArgument
	}
	return string(text), ok
}

// Networks

func (hns *service) createNetwork(id, text string) hresult {
	it := &network{}
	if code := parse(text, it); code != ok {
		return code
	}
	it.ID = id
	switch {
	case it.SchemaVersion.Major != 2:
		return invalidArgument
	case it.Name == "":
		return invalidNetwork
	case !slices.Contains(types, it.Type):
		return invalidNetworkType
	case find(hns.kept.Networks, func(each *network) bool { return each.Name == it.Name || strings.EqualFold(each.ID, id) }) != nil:
		return networkAlreadyExists
	}
	subnets := 0
	for _, ipam := range it.Ipams {
		for _, each := range ipam.Subnets {
			subnets++
			if code := checkSubnet(each, it.Type); code != ok {
				return code
			}
		}
	}
	if subnets == 0 && slices.Contains(onAnAdapter, it.Type) {
		return invalidSubnet
	}
	if code := checkAdapter(it.Policies); code != ok {
		return code
	}
	hns.kept.Networks = append(hns.kept.Networks, it)
	return ok
}

func checkSubnet(it subnet, networkType string) hresult {
	prefix, err := netip.ParsePrefix(it.IpAddressPrefix)
	if err != nil || prefix != prefix.Masked() {
		return invalidSubnet
	}
	for _, route := range it.Routes {
		hop, err := netip.ParseAddr(route.NextHop)
		if err != nil || !prefix.Contains(hop) || hop == prefix.Addr() {
			return addressInvalid
		}
	}
	isolated := false
	for _, each := range it.Policies {
		var settings struct{ IsolationId uint32 }
		if each.Type == "VSID" {
			if parse(string(each.Settings), &settings) != ok || settings.IsolationId < smallestVSID {
				return invalidPolicy
			}
			isolated = true
		}
	}
	if networkType == "Overlay" && !isolated {
		return invalidPolicy
	}
	return ok
}

func checkAdapter(policies []policy) hresult {
	name, code := adapterOf(policies)
	if code != ok || name == "" {
		return code
	}
	if addresses, err := adapters(); err != nil || addresses[name] == nil {
		return adapterNotFound
	}
	return ok
}

func adapterOf(policies []policy) (string, hresult) {
	for _, each := range policies {
		var settings struct{ NetworkAdapterName string }
		if each.Type == "NetAdapterName" {
			if parse(string(each.Settings), &settings) != ok {
				return "", invalidPolicy
			}
			return settings.NetworkAdapterName, ok
		}
	}
	return "", ok
}

func managementAddress(policies []policy) string {
	name, _ := adapterOf(policies)
	addresses, _ := adapters()
	if len(addresses[name]) == 0 {
		return ""
	}
	return addresses[name][0]
}

// adapters are the IPv4 addresses of each by the name that people know, as `Ethernet`.
func adapters() (map[string][]string, error) {
	size := uint32(64 << 10)
	buffer := make([]byte, size)
	first := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buffer[0]))
	if err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, 0, 0, first, &size); err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for each := first; each != nil; each = each.Next {
		addresses := []string{}
		for one := each.FirstUnicastAddress; one != nil; one = one.Next {
			if address := one.Address.IP().To4(); address != nil {
				addresses = append(addresses, address.String())
			}
		}
		found[windows.UTF16PtrToString(each.FriendlyName)] = addresses
	}
	return found, nil
}

func (hns *service) deleteNetwork(id string) hresult {
	if hns.kept.network(id) == nil {
		return networkNotFound
	}
	for _, each := range hns.kept.Endpoints {
		if strings.EqualFold(each.HostComputeNetwork, id) && hns.isBalanced(each.ID) {
			return hasReferences
		}
	}
	hns.kept.Networks = without(hns.kept.Networks, func(each *network) bool { return strings.EqualFold(each.ID, id) })
	// The network's endpoints go with it, but for one that the host holds: it stays, of a network that is no more.
	hns.kept.Endpoints = without(hns.kept.Endpoints, func(each *endpoint) bool {
		return strings.EqualFold(each.HostComputeNetwork, id) && each.HostComputeNamespace == ""
	})
	return ok
}

func (hns *service) isBalanced(id string) bool {
	return find(hns.kept.LoadBalancers, func(each *loadBalancer) bool {
		return slices.ContainsFunc(each.HostComputeEndpoints, func(one string) bool { return strings.EqualFold(one, id) })
	}) != nil
}

// Endpoints

func (hns *service) createEndpoint(id, of, text string) hresult {
	it := &endpoint{}
	if code := parse(text, it); code != ok {
		return code
	}
	network := hns.kept.network(of)
	switch {
	case network == nil:
		return networkNotFound
	case it.SchemaVersion.Major != 2 || it.HostComputeNamespace != "":
		return invalidArgument
	}
	it.ID, it.HostComputeNetwork = id, network.ID
	if it.Flags&flagRemoteEndpoint == 0 {
		if code := hns.place(it, network); code != ok {
			return code
		}
	}
	if it.MacAddress == "" {
		hns.made++
		it.MacAddress = fmt.Sprintf("00-15-5D-4C-%02X-%02X", byte(hns.made>>8), byte(hns.made))
	}
	hns.kept.Endpoints = append(hns.kept.Endpoints, it)
	return ok
}

// place checks that a local endpoint's address is the network's and nobody's else, or gives it one.
func (hns *service) place(it *endpoint, of *network) hresult {
	var subnets []netip.Prefix
	taken := map[netip.Addr]bool{}
	for _, ipam := range of.Ipams {
		for _, each := range ipam.Subnets {
			subnets = append(subnets, netip.MustParsePrefix(each.IpAddressPrefix))
			for _, route := range each.Routes {
				taken[netip.MustParseAddr(route.NextHop)] = true
			}
		}
	}
	for _, other := range hns.kept.Endpoints {
		if other.HostComputeNetwork == of.ID {
			for _, each := range other.IpConfigurations {
				if address, err := netip.ParseAddr(each.IpAddress); err == nil {
					taken[address] = true
				}
			}
		}
	}
	if len(it.IpConfigurations) == 0 && len(subnets) > 0 {
		free := subnets[0].Addr().Next()
		for taken[free] {
			free = free.Next()
		}
		it.IpConfigurations = []ipConfiguration{{IpAddress: free.String(), PrefixLength: uint8(subnets[0].Bits())}}
	}
	for index, each := range it.IpConfigurations {
		address, err := netip.ParseAddr(each.IpAddress)
		if err != nil || taken[address] {
			return addressInvalid
		}
		home := slices.IndexFunc(subnets, func(one netip.Prefix) bool { return one.Contains(address) })
		if home < 0 {
			return addressInvalid
		}
		it.IpConfigurations[index].PrefixLength = uint8(subnets[home].Bits())
	}
	return ok
}

func (hns *service) modifyEndpoint(id, text string) hresult {
	it, asked := hns.kept.endpoint(id), modification{}
	if it == nil {
		return endpointNotFound
	}
	if code := parse(text, &asked); code != ok {
		return code
	}
	var settings struct{ Policies []policy }
	if asked.ResourceType != "Policy" || parse(string(asked.Settings), &settings) != ok {
		return notImplemented
	}
	switch asked.RequestType {
	case "Add":
		it.Policies = append(it.Policies, settings.Policies...)
	case "Update":
		it.Policies = settings.Policies
	default:
		return notImplemented
	}
	return ok
}

func (hns *service) deleteEndpoint(id string) hresult {
	if hns.kept.endpoint(id) == nil {
		return endpointNotFound
	}
	hns.detach(id)
	hns.kept.Endpoints = without(hns.kept.Endpoints, func(each *endpoint) bool { return strings.EqualFold(each.ID, id) })
	return ok
}

// Namespaces

func (hns *service) createNamespace(id, text string) hresult {
	it := &namespace{}
	if code := parse(text, it); code != ok {
		return code
	}
	if it.SchemaVersion.Major != 2 {
		return invalidArgument
	}
	it.ID, it.NamespaceId = id, uint32(len(hns.kept.Namespaces)+1)
	hns.kept.Namespaces = append(hns.kept.Namespaces, it)
	return ok
}

func (hns *service) modifyNamespace(id, text string) hresult {
	it, asked := hns.kept.namespace(id), modification{}
	if it == nil {
		return elementNotFound
	}
	if code := parse(text, &asked); code != ok {
		return code
	}
	var settings struct{ EndpointId string }
	if asked.ResourceType != "Endpoint" || parse(string(asked.Settings), &settings) != ok {
		return notImplemented
	}
	if asked.RequestType == "Remove" {
		hns.detach(settings.EndpointId)
		return ok
	}
	return hns.attach(settings.EndpointId, it)
}

func (hns *service) attach(id string, to *namespace) hresult {
	it := hns.kept.endpoint(id)
	switch {
	case it == nil || hns.kept.network(it.HostComputeNetwork) == nil:
		return endpointNotFound
	case it.HostComputeNamespace != "":
		return alreadyAttached
	}
	it.HostComputeNamespace = to.ID
	data, _ := json.Marshal(map[string]string{"ID": it.ID})
	to.Resources = append(to.Resources, resource{"Endpoint", data})
	return ok
}

func (hns *service) detach(id string) {
	if it := hns.kept.endpoint(id); it != nil {
		it.HostComputeNamespace = ""
	}
	for _, each := range hns.kept.Namespaces {
		each.Resources = slices.DeleteFunc(each.Resources, func(one resource) bool {
			return strings.Contains(strings.ToUpper(string(one.Data)), strings.ToUpper(id))
		})
	}
}

func (hns *service) deleteNamespace(id string) hresult {
	if hns.kept.namespace(id) == nil {
		return elementNotFound
	}
	hns.kept.Namespaces = without(hns.kept.Namespaces, func(each *namespace) bool { return strings.EqualFold(each.ID, id) })
	return ok
}

// Load balancers

func (hns *service) createLoadBalancer(id, text string) hresult {
	it := &loadBalancer{}
	if code := parse(text, it); code != ok {
		return code
	}
	if it.SchemaVersion.Major != 2 || len(it.PortMappings) == 0 {
		return invalidArgument
	}
	for _, each := range it.HostComputeEndpoints {
		if hns.kept.endpoint(each) == nil {
			return endpointNotFound
		}
	}
	for _, other := range hns.kept.LoadBalancers {
		same := slices.Equal(other.FrontendVIPs, it.FrontendVIPs)
		if same && other.PortMappings[0].ExternalPort == it.PortMappings[0].ExternalPort && other.PortMappings[0].Protocol == it.PortMappings[0].Protocol {
			return portAlreadyExists
		}
	}
	it.ID = id
	hns.kept.LoadBalancers = append(hns.kept.LoadBalancers, it)
	return ok
}

func (hns *service) deleteLoadBalancer(id string) hresult {
	if hns.kept.loadBalancer(id) == nil {
		return elementNotFound
	}
	hns.kept.LoadBalancers = without(hns.kept.LoadBalancers, func(each *loadBalancer) bool { return strings.EqualFold(each.ID, id) })
	return ok
}

// The first schema, by HNSCall: what programs of today still ask that way. `of` is method and path.
func (hns *service) hnsCall(of, text string) string {
	method, path, _ := strings.Cut(of, " ")
	words := strings.Split(strings.Trim(path, "/"), "/")
	if method == "GET" && path == "/globals/version" {
		return windowsVersion
	}
	if method == "GET" && words[0] == "policylists" {
		return `{"Success":true,"Output":[]}`
	}
	if method == "GET" && words[0] == "networks" && len(words) == 1 {
		return hns.networksOfTheFirstSchema()
	}
	if method == "POST" && len(words) == 3 && words[0] == "endpoints" && words[2] == "attach" {
		return hns.attachToHost(words[1], text)
	}
	return `{"Success":false,"Error":"the stand-in has no such path","ErrorCode":2151350293}`
}

func (hns *service) networksOfTheFirstSchema() string {
	type subnet struct{ AddressPrefix, GatewayAddress string }
	type network struct {
		ID, Name, Type, ManagementIP string
		Subnets                      []subnet
	}
	found := []network{}
	for _, each := range hns.kept.Networks {
		told := network{ID: each.ID, Name: each.Name, Type: each.Type, ManagementIP: managementAddress(each.Policies)}
		for _, ipam := range each.Ipams {
			for _, one := range ipam.Subnets {
				gateway := ""
				if len(one.Routes) > 0 {
					gateway = one.Routes[0].NextHop
				}
				told.Subnets = append(told.Subnets, subnet{one.IpAddressPrefix, gateway})
			}
		}
		found = append(found, told)
	}
	text, _ := json.Marshal(found)
	return `{"Success":true,"Output":` + string(text) + "}"
}

func (hns *service) attachToHost(id, text string) string {
	var asked struct {
		ContainerID   json.RawMessage `json:"ContainerId"`
		SystemType    json.RawMessage
		CompartmentID json.RawMessage `json:"CompartmentId"`
	}
	if parse(text, &asked) != ok || string(asked.SystemType) != `"Host"` || string(asked.CompartmentID) != "1" {
		return failure(invalidJSON)
	}
	if code := hns.attach(id, hns.kept.hostNamespace()); code != ok {
		return failure(code)
	}
	if err := hns.kept.save(); err != nil {
		return failure(invalidArgument)
	}
	return `{"Success":true}`
}

func failure(code hresult) string {
	return fmt.Sprintf(`{"Success":false,"Error":"%#x","ErrorCode":%d}`, uint32(code), uint32(code))
}

// What a test says and sees

// fault is a code to fail with: the next one that faults.json has for a call.
func (hns *service) fault(name string) hresult {
	file := filepath.Join(hns.kept.folder, "faults.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return ok
	}
	faults := map[string][]hresult{}
	if json.Unmarshal(text, &faults) != nil || len(faults[name]) == 0 {
		return ok
	}
	code := faults[name][0]
	faults[name] = faults[name][1:]
	text, _ = json.Marshal(faults)
	_ = os.WriteFile(file, text, 0o600)
	return code
}

// note adds a line to what was asked. Mere looks are left out.
func (hns *service) note(name, id, text string, code hresult) {
	if strings.HasPrefix(name, "Enumerate") || strings.HasPrefix(name, "Open") || strings.HasPrefix(name, "Query") {
		return
	}
	line, _ := json.Marshal(map[string]any{"call": name, "id": id, "settings": text, "code": uint32(code)})
	file, err := os.OpenFile(filepath.Join(hns.kept.folder, "asked.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(append(line, '\n'))
	_ = file.Close()
}

func parse(text string, into any) hresult {
	decoder := json.NewDecoder(bytes.NewBufferString(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(into) != nil {
		return invalidJSON
	}
	return ok
}

func newID() string {
	guid, err := windows.GenerateGUID()
	if err != nil {
		panic(err)
	}
	return strings.Trim(guid.String(), "{}")
}

func pointer[T any](it *T) unsafe.Pointer { return unsafe.Pointer(it) }
