// Kubeadm-oracle asks kubeadm's own packages what they make of configurations.
//
// It reads questions from standard input, one JSON object a line; each answer is one line. It is built with the
// module of the lab's Kubernetes, so that it is of the same release.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	kubeadmapiv1 "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm/v1beta4"
	"k8s.io/kubernetes/cmd/kubeadm/app/componentconfigs"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	kubeadmutil "k8s.io/kubernetes/cmd/kubeadm/app/util"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/config"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/patches"
	"sigs.k8s.io/yaml"
)

type question struct {
	// Join is a file with a JoinConfiguration.
	Join []byte `json:"join"`
	// Kubelet is a KubeletConfiguration as a cluster has it, to be made a node's own.
	Kubelet  []byte            `json:"kubelet"`
	Networks networks          `json:"networks"`
	Patches  map[string][]byte `json:"patches"`
	// Normal is a KubeletConfiguration, to be written as Go would write it.
	Normal []byte `json:"normal"`
}

type networks struct {
	ServiceSubnet   string `json:"serviceSubnet"`
	DNSDomain       string `json:"dnsDomain"`
	CertificatesDir string `json:"certificatesDir"`
}

type answer struct {
	// Refused says why `kubeadm join` does not take it; Invalid, why `kubeadm config validate` does not.
	Refused string `json:"refused,omitempty"`
	Invalid string `json:"invalid,omitempty"`
	// Config is what was read: a JoinConfiguration v1beta4, or a KubeletConfiguration.
	Config any `json:"config,omitempty"`
	// Flags is the content of kubeadm-flags.env.
	Flags string `json:"flags,omitempty"`
}

func main() {
	log.SetFlags(0)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// kubeadm tells what it does on standard output.
	answers := json.NewEncoder(os.Stdout)
	silent, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout = silent
	questions := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	for questions.More() {
		var asked question
		if err := questions.Decode(&asked); err != nil {
			log.Fatalf("not a question: %v", err)
		}
		if err := answers.Encode(reply(asked)); err != nil {
			log.Fatal(err)
		}
	}
}

func reply(asked question) answer {
	switch {
	case asked.Kubelet != nil:
		return ofKubelet(asked)
	case asked.Normal != nil:
		return normal(asked.Normal)
	default:
		return ofJoin(asked.Join)
	}
}

func ofJoin(document []byte) answer {
	var made answer
	if err := config.ValidateConfig(document, false, false); err != nil {
		made.Invalid = err.Error()
	}
	options := config.LoadOrDefaultConfigurationOptions{SkipCRIDetect: true}
	read, err := config.BytesToJoinConfiguration(document, options)
	if err != nil {
		made.Refused = err.Error()
		return made
	}
	written, err := config.MarshalKubeadmConfigObject(read, kubeadmapiv1.SchemeGroupVersion)
	if err != nil {
		log.Fatalf("a configuration that cannot be written: %v", err)
	}
	if err := yaml.Unmarshal(written, &made.Config); err != nil {
		log.Fatal(err)
	}
	made.Flags = flags(&read.NodeRegistration)
	return made
}

func flags(registration *kubeadmapi.NodeRegistrationOptions) string {
	folder := temporary()
	defer os.RemoveAll(folder)
	if err := kubelet.WriteKubeletDynamicEnvFile(&kubeadmapi.ClusterConfiguration{}, registration, true, folder); err != nil {
		log.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(folder, "kubeadm-flags.env"))
	if err != nil {
		log.Fatal(err)
	}
	return string(written)
}

func ofKubelet(asked question) answer {
	documents, err := kubeadmutil.SplitConfigDocuments(asked.Kubelet)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	cluster := &kubeadmapi.ClusterConfiguration{CertificatesDir: asked.Networks.CertificatesDir}
	cluster.Networking.ServiceSubnet = asked.Networks.ServiceSubnet
	cluster.Networking.DNSDomain = asked.Networks.DNSDomain
	if err := componentconfigs.FetchFromDocumentMap(cluster, documents); err != nil {
		return answer{Refused: err.Error()}
	}
	registration := &kubeadmapi.NodeRegistrationOptions{}
	componentconfigs.Default(cluster, &kubeadmapi.APIEndpoint{}, registration)
	component := cluster.ComponentConfigs[componentconfigs.KubeletGroup]
	asOnWindows(component.Get().(*kubeletconfig.KubeletConfiguration))
	written, err := component.Marshal()
	if err != nil {
		log.Fatal(err)
	}
	patched, err := withPatches(written, asked.Patches)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	return normal(patched)
}

// asOnWindows is what kubeadm.exe alone does (componentconfigs/kubelet_windows.go), started from C:.
func asOnWindows(read *kubeletconfig.KubeletConfiguration) {
	none := ""
	read.ResolverConfig = &none
	for _, path := range []*string{&read.StaticPodPath, &read.Authentication.X509.ClientCAFile} {
		if strings.HasPrefix(*path, "/") {
			*path = "C:" + strings.ReplaceAll(filepath.Clean(*path), "/", `\`)
		}
	}
}

func withPatches(written []byte, files map[string][]byte) ([]byte, error) {
	folder := temporary()
	defer os.RemoveAll(folder)
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			log.Fatal(err)
		}
	}
	found, err := patches.GetPatchManagerForPath(folder, patches.KnownTargets(), io.Discard)
	if err != nil {
		return nil, err
	}
	target := &patches.PatchTarget{
		Name:                      patches.KubeletConfiguration,
		StrategicMergePatchObject: kubeletconfig.KubeletConfiguration{},
		Data:                      written,
	}
	if err := applied(found, target); err != nil {
		return nil, err
	}
	return target.Data, nil
}

// applied turns a crash of the library's into a refusal.
func applied(found *patches.PatchManager, target *patches.PatchTarget) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("crashed: %v", crash)
		}
	}()
	return found.ApplyPatchesToTarget(target)
}

func normal(document []byte) answer {
	var read kubeletconfig.KubeletConfiguration
	if err := yaml.Unmarshal(document, &read); err != nil {
		return answer{Invalid: err.Error()}
	}
	return answer{Config: read}
}

func temporary() string {
	folder, err := os.MkdirTemp("", "kubeadm-oracle-")
	if err != nil {
		log.Fatal(err)
	}
	return folder
}
