package main

import (
	"context"

	v1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What a running container is said to use: small, the same always, and never zero, which the kubelet takes for "not
// measured yet".
const (
	usedCores  = 10_000_000 // a hundredth of a core, in nanocores
	usedMemory = 20 << 20
)

func (s *Server) ContainerStats(_ context.Context, r *v1.ContainerStatsRequest) (*v1.ContainerStatsResponse, error) {
	answer := &v1.ContainerStatsResponse{}
	err := s.store.Read(func(c *Contents) error {
		container, err := c.container(r.GetContainerId())
		if err == nil {
			answer.Stats = container.stats()
		}
		return err
	})
	return answer, err
}

func (s *Server) ListContainerStats(
	_ context.Context, r *v1.ListContainerStatsRequest,
) (*v1.ListContainerStatsResponse, error) {
	answer := &v1.ListContainerStatsResponse{}
	filter := r.GetFilter()
	err := s.store.Read(func(c *Contents) error {
		for _, container := range c.Containers {
			labels := container.Config.Message.GetLabels()
			if matches(filter.GetId(), container.ID) && matches(filter.GetPodSandboxId(), container.SandboxID) &&
				selects(filter.GetLabelSelector(), labels) && container.running() {
				answer.Stats = append(answer.Stats, container.stats())
			}
		}
		return nil
	})
	return answer, err
}

func (s *Server) PodSandboxStats(
	_ context.Context, r *v1.PodSandboxStatsRequest,
) (*v1.PodSandboxStatsResponse, error) {
	answer := &v1.PodSandboxStatsResponse{}
	err := s.store.Read(func(c *Contents) error {
		sandbox, err := c.sandbox(r.GetPodSandboxId())
		if err == nil {
			answer.Stats = c.statsOf(sandbox)
		}
		return err
	})
	return answer, err
}

func (s *Server) ListPodSandboxStats(
	_ context.Context, r *v1.ListPodSandboxStatsRequest,
) (*v1.ListPodSandboxStatsResponse, error) {
	answer := &v1.ListPodSandboxStatsResponse{}
	filter := r.GetFilter()
	err := s.store.Read(func(c *Contents) error {
		for _, sandbox := range c.Sandboxes {
			labels := sandbox.Config.Message.GetLabels()
			if matches(filter.GetId(), sandbox.ID) && selects(filter.GetLabelSelector(), labels) && sandbox.Ready {
				answer.Stats = append(answer.Stats, c.statsOf(sandbox))
			}
		}
		return nil
	})
	return answer, err
}

func (c *Container) stats() *v1.ContainerStats {
	at := now()
	return &v1.ContainerStats{
		Attributes: c.attributes(),
		Cpu: &v1.CpuUsage{
			Timestamp:            at,
			UsageCoreNanoSeconds: &v1.UInt64Value{Value: c.cpuTime(at)},
			UsageNanoCores:       &v1.UInt64Value{Value: usedCores},
		},
		Memory: &v1.MemoryUsage{Timestamp: at, WorkingSetBytes: &v1.UInt64Value{Value: usedMemory}},
		WritableLayer: &v1.FilesystemUsage{
			Timestamp: at, FsId: &v1.FilesystemIdentifier{Mountpoint: `C:\`}, UsedBytes: &v1.UInt64Value{Value: 1},
		},
	}
}

func (c *Contents) statsOf(sandbox *Sandbox) *v1.PodSandboxStats {
	at, config := now(), sandbox.Config.Message
	windows := &v1.WindowsPodSandboxStats{}
	var cpu, cores, memory uint64
	for _, container := range c.containersOf(sandbox.ID) {
		if !container.running() {
			continue
		}
		cpu, cores, memory = cpu+container.cpuTime(at), cores+usedCores, memory+usedMemory
		windows.Containers = append(windows.Containers, &v1.WindowsContainerStats{
			Attributes: container.attributes(),
			Cpu:        windowsCPU(at, container.cpuTime(at), usedCores),
			Memory:     windowsMemory(at, usedMemory),
		})
	}
	windows.Cpu, windows.Memory = windowsCPU(at, cpu, cores), windowsMemory(at, memory)
	return &v1.PodSandboxStats{
		Attributes: &v1.PodSandboxAttributes{
			Id: sandbox.ID, Metadata: config.GetMetadata(), Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
		},
		Windows: windows,
	}
}

func (c *Container) attributes() *v1.ContainerAttributes {
	config := c.Config.Message
	return &v1.ContainerAttributes{
		Id: c.ID, Metadata: config.GetMetadata(), Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
	}
}

// cpuTime is what a container has used since it was started, in nanoseconds of one core.
func (c *Container) cpuTime(at int64) uint64 { return uint64(at-c.StartedAt) / 1e9 * usedCores }

func windowsCPU(at int64, used, cores uint64) *v1.WindowsCpuUsage {
	return &v1.WindowsCpuUsage{
		Timestamp:            at,
		UsageCoreNanoSeconds: &v1.UInt64Value{Value: used},
		UsageNanoCores:       &v1.UInt64Value{Value: cores},
	}
}

func windowsMemory(at int64, used uint64) *v1.WindowsMemoryUsage {
	return &v1.WindowsMemoryUsage{
		Timestamp:         at,
		WorkingSetBytes:   &v1.UInt64Value{Value: used},
		CommitMemoryBytes: &v1.UInt64Value{Value: used},
	}
}
