package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// flanneld.exe is a copy of hns.exe, and plays Flannel's daemon as far as HNS and the CNI plug-ins see it: by its
// net-conf.json it makes its network where there is none, and a bridge's endpoint; it takes what there is of these
// names, fails where that cannot be used, and writes down the node's range. It asks no API server: the range is given.

const (
	netConf    = `C:\etc\kube-flannel\net-conf.json`
	subnetEnv  = `C:\run\flannel\subnet.env`
	subnetText = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.7.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
	bridge     = `{"Name":"%s","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.7.0/24","Routes":[{"NextHop":"10.244.7.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"eth0"}}],"SchemaVersion":{"Major":2,"Minor":0}}`
	bridgesOwn = `{"Name":"%s","IpConfigurations":[{"IpAddress":"10.244.7.2","PrefixLength":24}],"SchemaVersion":{"Major":2,"Minor":0}}`
	attachment = `{"SystemType":"Host","CompartmentId":1}`
	overlay    = `{"Name":"%s","Type":"Overlay","Flags":8,"Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.7.0/24","Routes":[{"NextHop":"10.244.7.1","DestinationPrefix":"0.0.0.0/0"}],"Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}]}]}],"Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"eth0"}},{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.244.3.0/24","IsolationId":4096,"ProviderAddress":"10.77.0.33","DistributedRouterMacAddress":"00-15-5D-4C-33-33"}}],"SchemaVersion":{"Major":2,"Minor":0}}`
	forEver    = 1 << 62
	noGUID     = "00000000-0000-0000-0000-000000000000"
)

func playsFlannel() bool {
	return strings.EqualFold(filepath.Base(os.Args[0]), "flanneld.exe")
}

func flannel() error {
	var conf struct{ Backend struct{ Type, Name string } }
	text, err := os.ReadFile(netConf)
	if err == nil {
		err = json.Unmarshal(text, &conf)
	}
	if err != nil {
		return err
	}
	switch conf.Backend.Type {
	case "vxlan":
		_, err = existingOrNew("Network", "flannel.4096", overlay, "")
	case "host-gw":
		err = bridged(conf.Backend.Name)
	default:
		err = errors.New("no such backend: " + conf.Backend.Type)
	}
	if err != nil {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(subnetEnv), 0o755); err == nil {
		err = os.WriteFile(subnetEnv, []byte(subnetText), 0o644)
	}
	if err == nil {
		time.Sleep(forEver)
	}
	return err
}

func bridged(name string) error {
	network, err := existingOrNew("Network", name, bridge, "")
	if err != nil {
		return err
	}
	endpoint, err := existingOrNew("Endpoint", name+"_ep", bridgesOwn, network)
	if err != nil {
		return err
	}
	answer, err := request("HNSCall", noGUID, "POST /endpoints/"+endpoint+"/attach", attachment)
	var told struct{ ErrorCode hresult }
	if err == nil {
		err = json.Unmarshal([]byte(answer[2]), &told)
	}
	if err == nil && told.ErrorCode != ok && told.ErrorCode != alreadyAttached {
		err = fmt.Errorf("the endpoint %s_ep cannot be attached: %#x", name, uint32(told.ErrorCode))
	}
	return err
}

// existingOrNew is the id of what has that name, whatever it belongs to.
func existingOrNew(kind, name, document, of string) (string, error) {
	filter, _ := json.Marshal(map[string]string{"Name": name})
	query, _ := json.Marshal(map[string]any{"SchemaVersion": version{2, 0}, "Filter": string(filter)})
	answer, err := request("Enumerate"+kind+"s", noGUID, "", string(query))
	if err != nil {
		return "", err
	}
	var found []string
	if err := json.Unmarshal([]byte(answer[2]), &found); err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	answer, err = request("Create"+kind, noGUID, of, fmt.Sprintf(document, name))
	return answer[1], err
}

func request(name, id, of, text string) ([]string, error) {
	answer, err := ask(strings.Join([]string{name, id, of, text}, "\x00"))
	words := append(strings.SplitN(answer, "\x00", 3), "", "", "")
	if err == nil && words[0] != "0" {
		err = fmt.Errorf("%s: %s", name, words[0])
	}
	return words, err
}
