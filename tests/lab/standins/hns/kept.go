package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

const (
	flagNonPersistent  = 8
	flagRemoteEndpoint = 1
	hostDefault        = "HostDefault"
)

// kept is all that there is. It is written down whole at each change, for a test to read; what of it counts at the
// next start is decided by `load`.
type kept struct {
	Networks      []*network
	Endpoints     []*endpoint
	Namespaces    []*namespace
	LoadBalancers []*loadBalancer

	folder string
}

func load(folder string) (*kept, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	it := &kept{folder: folder}
	text, err := os.ReadFile(it.file())
	if err == nil {
		err = json.Unmarshal(text, it)
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	isNew, err := isFirstOfThisBoot()
	if err != nil {
		return nil, err
	}
	it.losePolicies()
	if isNew {
		it.loseWhatNoRebootBrings()
	}
	if it.hostNamespace() == nil {
		it.Namespaces = append(it.Namespaces, &namespace{ID: newID(), NamespaceId: 1, Type: hostDefault, SchemaVersion: version{2, 0}})
	}
	return it, it.save()
}

// As a crash of the service does.
func (it *kept) losePolicies() {
	it.LoadBalancers = nil
	for _, each := range it.Endpoints {
		each.Policies = nil
	}
}

// A network stays unless it was made without persistence; endpoints of this machine stay with theirs, but are
// attached to nothing any more.
func (it *kept) loseWhatNoRebootBrings() {
	it.Namespaces = nil
	lost := map[string]bool{}
	for _, each := range it.Networks {
		lost[each.ID] = each.Flags&flagNonPersistent != 0
	}
	it.Networks = without(it.Networks, func(each *network) bool { return lost[each.ID] })
	it.Endpoints = without(it.Endpoints, func(each *endpoint) bool {
		return lost[each.HostComputeNetwork] || each.Flags&flagRemoteEndpoint != 0
	})
	for _, each := range it.Endpoints {
		each.HostComputeNamespace = ""
	}
}

func (it *kept) file() string { return filepath.Join(it.folder, "HNS.data") }

func (it *kept) save() error {
	text, err := json.MarshalIndent(it, "", " ")
	if err != nil {
		return err
	}
	fresh := it.file() + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, it.file())
}

func (it *kept) network(id string) *network {
	return find(it.Networks, func(each *network) bool { return strings.EqualFold(each.ID, id) })
}

func (it *kept) endpoint(id string) *endpoint {
	return find(it.Endpoints, func(each *endpoint) bool { return strings.EqualFold(each.ID, id) })
}

func (it *kept) namespace(id string) *namespace {
	return find(it.Namespaces, func(each *namespace) bool { return strings.EqualFold(each.ID, id) })
}

func (it *kept) loadBalancer(id string) *loadBalancer {
	return find(it.LoadBalancers, func(each *loadBalancer) bool { return strings.EqualFold(each.ID, id) })
}

func (it *kept) hostNamespace() *namespace {
	return find(it.Namespaces, func(each *namespace) bool { return each.Type == hostDefault })
}

func find[T any](all []*T, is func(*T) bool) *T {
	for _, each := range all {
		if is(each) {
			return each
		}
	}
	return nil
}

func without[T any](all []*T, is func(*T) bool) []*T {
	var left []*T
	for _, each := range all {
		if !is(each) {
			left = append(left, each)
		}
	}
	return left
}

// A key that the registry forgets when Windows is started anew.
func isFirstOfThisBoot() (bool, error) {
	const volatile, createdNew = 1, 1
	name, err := windows.UTF16PtrFromString(`SYSTEM\CurrentControlSet\Services\hns\Running`)
	if err != nil {
		return false, err
	}
	var key windows.Handle
	var made uint32
	create := windows.NewLazySystemDLL("advapi32.dll").NewProc("RegCreateKeyExW")
	code, _, _ := create.Call(uintptr(windows.HKEY_LOCAL_MACHINE), uintptr(pointer(name)), 0, 0, volatile,
		windows.KEY_READ, 0, uintptr(pointer(&key)), uintptr(pointer(&made)))
	if code != 0 {
		return false, windows.Errno(code)
	}
	_ = windows.CloseHandle(key)
	return made == createdNew, nil
}
