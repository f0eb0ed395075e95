package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Server answers for both services of CRI. What it leaves out (attaching, port forwarding, checkpoints, the streaming
// lists and container events, which the kubelet asks for behind alpha gates only) is answered with "unimplemented".
type Server struct {
	v1.UnimplementedRuntimeServiceServer
	v1.UnimplementedImageServiceServer
	store *Store
}

func NewServer(store *Store) *Server { return &Server{store: store} }

func (s *Server) Version(context.Context, *v1.VersionRequest) (*v1.VersionResponse, error) {
	return &v1.VersionResponse{
		Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "2.1.0", RuntimeApiVersion: "v1",
	}, nil
}

func (s *Server) Status(context.Context, *v1.StatusRequest) (*v1.StatusResponse, error) {
	return &v1.StatusResponse{Status: &v1.RuntimeStatus{Conditions: []*v1.RuntimeCondition{
		{Type: v1.RuntimeReady, Status: true},
		{Type: v1.NetworkReady, Status: true},
	}}}, nil
}

func (s *Server) RuntimeConfig(context.Context, *v1.RuntimeConfigRequest) (*v1.RuntimeConfigResponse, error) {
	return &v1.RuntimeConfigResponse{}, nil // it has settings for Linux only
}

func (s *Server) UpdateRuntimeConfig(
	_ context.Context, r *v1.UpdateRuntimeConfigRequest,
) (*v1.UpdateRuntimeConfigResponse, error) {
	return &v1.UpdateRuntimeConfigResponse{}, s.store.Change(func(c *Contents) error {
		// A dual-stack node names one CIDR a family; the addresses given here are of the first.
		if cidr, _, _ := strings.Cut(r.GetRuntimeConfig().GetNetworkConfig().GetPodCidr(), ","); cidr != "" {
			c.PodCIDR = cidr
		}
		return nil
	})
}

// Sandboxes

func (s *Server) RunPodSandbox(_ context.Context, r *v1.RunPodSandboxRequest) (*v1.RunPodSandboxResponse, error) {
	sandbox := &Sandbox{ID: newID(), RuntimeHandler: r.GetRuntimeHandler(), CreatedAt: now(), Ready: true}
	sandbox.Config.Message = r.GetConfig()
	meta := r.GetConfig().GetMetadata()
	if meta.GetName() == "" || meta.GetUid() == "" {
		return nil, status.Error(codes.InvalidArgument, "a sandbox needs a name and a uid")
	}
	return &v1.RunPodSandboxResponse{PodSandboxId: sandbox.ID}, s.store.Change(func(c *Contents) error {
		for _, other := range c.Sandboxes {
			theirs := other.Config.Message.GetMetadata()
			if theirs.GetUid() == meta.GetUid() && theirs.GetAttempt() == meta.GetAttempt() {
				return status.Errorf(codes.AlreadyExists, "sandbox %s is attempt %d of pod %s", other.ID, meta.GetAttempt(), meta.GetUid())
			}
		}
		if !sandbox.hostNetwork() {
			address, err := c.nextAddress()
			if err != nil {
				return err
			}
			sandbox.IP = address
		}
		c.Sandboxes[sandbox.ID] = sandbox
		return nil
	})
}

func (s *Server) StopPodSandbox(_ context.Context, r *v1.StopPodSandboxRequest) (*v1.StopPodSandboxResponse, error) {
	return &v1.StopPodSandboxResponse{}, s.store.Change(func(c *Contents) error {
		if sandbox, ok := c.Sandboxes[r.GetPodSandboxId()]; ok {
			sandbox.Ready = false
			for _, container := range c.containersOf(sandbox.ID) {
				container.exit(0, reasonFor(0))
			}
		}
		return nil // CRI wants no error for what is gone already
	})
}

func (s *Server) RemovePodSandbox(
	_ context.Context, r *v1.RemovePodSandboxRequest,
) (*v1.RemovePodSandboxResponse, error) {
	return &v1.RemovePodSandboxResponse{}, s.store.Change(func(c *Contents) error {
		for _, container := range c.containersOf(r.GetPodSandboxId()) {
			delete(c.Containers, container.ID)
		}
		delete(c.Sandboxes, r.GetPodSandboxId())
		return nil
	})
}

func (s *Server) PodSandboxStatus(
	_ context.Context, r *v1.PodSandboxStatusRequest,
) (*v1.PodSandboxStatusResponse, error) {
	answer := &v1.PodSandboxStatusResponse{}
	err := s.store.Read(func(c *Contents) error {
		sandbox, err := c.sandbox(r.GetPodSandboxId())
		if err != nil {
			return err
		}
		config := sandbox.Config.Message
		answer.Status = &v1.PodSandboxStatus{
			Id: sandbox.ID, Metadata: config.GetMetadata(), State: sandbox.state(), CreatedAt: sandbox.CreatedAt,
			Network: &v1.PodSandboxNetworkStatus{Ip: sandbox.IP},
			// The kubelet of every OS compares the network's mode here with the pod's, and makes a new sandbox if
			// they differ.
			Linux: &v1.LinuxPodSandboxStatus{Namespaces: &v1.Namespace{
				Options: config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
			}},
			Labels: config.GetLabels(), Annotations: config.GetAnnotations(), RuntimeHandler: sandbox.RuntimeHandler,
		}
		return nil
	})
	return answer, err
}

func (s *Server) ListPodSandbox(_ context.Context, r *v1.ListPodSandboxRequest) (*v1.ListPodSandboxResponse, error) {
	answer := &v1.ListPodSandboxResponse{}
	filter := r.GetFilter()
	err := s.store.Read(func(c *Contents) error {
		for _, sandbox := range c.Sandboxes {
			config := sandbox.Config.Message
			if !matches(filter.GetId(), sandbox.ID) || !selects(filter.GetLabelSelector(), config.GetLabels()) ||
				filter.GetState() != nil && filter.GetState().GetState() != sandbox.state() {
				continue
			}
			answer.Items = append(answer.Items, &v1.PodSandbox{
				Id: sandbox.ID, Metadata: config.GetMetadata(), State: sandbox.state(), CreatedAt: sandbox.CreatedAt,
				Labels: config.GetLabels(), Annotations: config.GetAnnotations(), RuntimeHandler: sandbox.RuntimeHandler,
			})
		}
		return nil
	})
	slices.SortFunc(answer.Items, func(a, b *v1.PodSandbox) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	return answer, err
}

// hostNetwork says whether the pod has the node's address and none of its own; a HostProcess pod always has.
func (s *Sandbox) hostNetwork() bool {
	security := s.Config.Message.GetWindows().GetSecurityContext()
	return security.GetHostProcess() || security.GetNamespaceOptions().GetNetwork() == v1.NamespaceMode_NODE
}

func (s *Sandbox) state() v1.PodSandboxState {
	if s.Ready {
		return v1.PodSandboxState_SANDBOX_READY
	}
	return v1.PodSandboxState_SANDBOX_NOTREADY
}

// Containers

func (s *Server) CreateContainer(
	_ context.Context, r *v1.CreateContainerRequest,
) (*v1.CreateContainerResponse, error) {
	container := &Container{
		ID: newID(), SandboxID: r.GetPodSandboxId(), State: v1.ContainerState_CONTAINER_CREATED, CreatedAt: now(),
	}
	container.Config.Message = r.GetConfig()
	return &v1.CreateContainerResponse{ContainerId: container.ID}, s.store.Change(func(c *Contents) error {
		sandbox, err := c.sandbox(container.SandboxID)
		if err != nil {
			return err
		}
		if !sandbox.Ready {
			return status.Errorf(codes.FailedPrecondition, "sandbox %s is not ready", sandbox.ID)
		}
		meta := r.GetConfig().GetMetadata()
		for _, other := range c.containersOf(sandbox.ID) {
			theirs := other.Config.Message.GetMetadata()
			if theirs.GetName() == meta.GetName() && theirs.GetAttempt() == meta.GetAttempt() {
				return status.Errorf(codes.AlreadyExists, "container %s is attempt %d of %q", other.ID, meta.GetAttempt(), meta.GetName())
			}
		}
		image := c.image(r.GetConfig().GetImage().GetImage())
		if image == nil {
			return status.Errorf(codes.NotFound, "image %q was not pulled", r.GetConfig().GetImage().GetImage())
		}
		container.ImageID = image.ID
		c.Containers[container.ID] = container
		return nil
	})
}

func (s *Server) StartContainer(_ context.Context, r *v1.StartContainerRequest) (*v1.StartContainerResponse, error) {
	return &v1.StartContainerResponse{}, s.store.Change(func(c *Contents) error {
		container, err := c.container(r.GetContainerId())
		if err != nil {
			return err
		}
		if container.State != v1.ContainerState_CONTAINER_CREATED {
			return status.Errorf(codes.FailedPrecondition, "container %s was started before", container.ID)
		}
		container.State = v1.ContainerState_CONTAINER_RUNNING
		container.StartedAt = now()
		return nil
	})
}

func (s *Server) StopContainer(_ context.Context, r *v1.StopContainerRequest) (*v1.StopContainerResponse, error) {
	return &v1.StopContainerResponse{}, s.store.Change(func(c *Contents) error {
		if container, ok := c.Containers[r.GetContainerId()]; ok {
			container.exit(0, reasonFor(0))
		}
		return nil
	})
}

func (s *Server) RemoveContainer(
	_ context.Context, r *v1.RemoveContainerRequest,
) (*v1.RemoveContainerResponse, error) {
	return &v1.RemoveContainerResponse{}, s.store.Change(func(c *Contents) error {
		delete(c.Containers, r.GetContainerId())
		return nil
	})
}

func (s *Server) ContainerStatus(
	_ context.Context, r *v1.ContainerStatusRequest,
) (*v1.ContainerStatusResponse, error) {
	answer := &v1.ContainerStatusResponse{}
	err := s.store.Read(func(c *Contents) error {
		container, err := c.container(r.GetContainerId())
		if err != nil {
			return err
		}
		config := container.Config.Message
		answer.Status = &v1.ContainerStatus{
			Id: container.ID, Metadata: config.GetMetadata(), State: container.State,
			CreatedAt: container.CreatedAt, StartedAt: container.StartedAt, FinishedAt: container.FinishedAt,
			ExitCode: container.ExitCode, Reason: container.Reason,
			Image: c.specOf(container), ImageRef: container.ImageID, ImageId: container.ImageID,
			Labels: config.GetLabels(), Annotations: config.GetAnnotations(), Mounts: config.GetMounts(),
			LogPath: c.logPath(container),
		}
		return nil
	})
	return answer, err
}

func (s *Server) ListContainers(_ context.Context, r *v1.ListContainersRequest) (*v1.ListContainersResponse, error) {
	answer := &v1.ListContainersResponse{}
	filter := r.GetFilter()
	err := s.store.Read(func(c *Contents) error {
		for _, container := range c.Containers {
			config := container.Config.Message
			if !matches(filter.GetId(), container.ID) || !matches(filter.GetPodSandboxId(), container.SandboxID) ||
				!selects(filter.GetLabelSelector(), config.GetLabels()) ||
				filter.GetState() != nil && filter.GetState().GetState() != container.State {
				continue
			}
			answer.Containers = append(answer.Containers, &v1.Container{
				Id: container.ID, PodSandboxId: container.SandboxID, Metadata: config.GetMetadata(),
				Image: config.GetImage(), ImageRef: container.ImageID, ImageId: container.ImageID,
				State: container.State, CreatedAt: container.CreatedAt,
				Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
			})
		}
		return nil
	})
	slices.SortFunc(answer.Containers, func(a, b *v1.Container) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	return answer, err
}

func (s *Server) UpdateContainerResources(
	_ context.Context, r *v1.UpdateContainerResourcesRequest,
) (*v1.UpdateContainerResourcesResponse, error) {
	return &v1.UpdateContainerResourcesResponse{}, s.known(r.GetContainerId())
}

func (s *Server) ReopenContainerLog(
	_ context.Context, r *v1.ReopenContainerLogRequest,
) (*v1.ReopenContainerLogResponse, error) {
	return &v1.ReopenContainerLogResponse{}, s.known(r.GetContainerId())
}

// ExecSync succeeds and does nothing, so that a container whose probe is a command counts as alive.
func (s *Server) ExecSync(_ context.Context, r *v1.ExecSyncRequest) (*v1.ExecSyncResponse, error) {
	return &v1.ExecSyncResponse{}, s.known(r.GetContainerId())
}

func (s *Server) known(container string) error {
	return s.store.Read(func(c *Contents) error {
		_, err := c.container(container)
		return err
	})
}

// specOf names a container's image as a person wrote it, where that is still known.
func (c *Contents) specOf(container *Container) *v1.ImageSpec {
	if image, ok := c.Images[container.ImageID]; ok && len(image.Names) > 0 {
		return &v1.ImageSpec{Image: image.Names[0]}
	}
	return container.Config.Message.GetImage()
}

func (c *Contents) logPath(container *Container) string {
	sandbox, ok := c.Sandboxes[container.SandboxID]
	if !ok || sandbox.Config.Message.GetLogDirectory() == "" {
		return ""
	}
	return sandbox.Config.Message.GetLogDirectory() + `\` + container.Config.Message.GetLogPath()
}

func matches(wanted, id string) bool { return wanted == "" || wanted == id }

func selects(wanted, labels map[string]string) bool {
	for name, value := range wanted {
		if have, ok := labels[name]; !ok || have != value {
			return false
		}
	}
	return true
}
