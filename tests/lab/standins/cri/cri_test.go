package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	v1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtime is a whole runtime as a kubelet and a test see it: CRI on one side, the control port on the other.
type runtime struct {
	v1.RuntimeServiceClient
	v1.ImageServiceClient
	state   string
	control string
	test    *testing.T
}

func start(t *testing.T, state string) runtime {
	t.Helper()
	store, err := OpenStore(state)
	must(t, err)
	address := freeAddress(t)
	door := NewDoor(address, NewServer(store))
	must(t, door.Open())
	t.Cleanup(door.Close)
	control := httptest.NewServer(NewControl(store, door))
	t.Cleanup(control.Close)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return runtime{
		v1.NewRuntimeServiceClient(connection), v1.NewImageServiceClient(connection), state, control.URL, t,
	}
}

func started(t *testing.T) runtime {
	t.Helper()
	return start(t, filepath.Join(t.TempDir(), "state.json"))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func (r runtime) tell(method, path, body string) int {
	r.test.Helper()
	request, err := http.NewRequest(method, r.control+path, strings.NewReader(body))
	must(r.test, err)
	response, err := http.DefaultClient.Do(request)
	must(r.test, err)
	_ = response.Body.Close()
	return response.StatusCode
}

func (r runtime) sandbox(name string, security *v1.WindowsSandboxSecurityContext) string {
	r.test.Helper()
	answer, err := r.RunPodSandbox(r.test.Context(), &v1.RunPodSandboxRequest{Config: &v1.PodSandboxConfig{
		Metadata: &v1.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"},
		Labels:   map[string]string{"pod": name},
		Linux: &v1.LinuxPodSandboxConfig{SecurityContext: &v1.LinuxSandboxSecurityContext{
			NamespaceOptions: &v1.NamespaceOption{Network: networkMode(security)},
		}},
		Windows: &v1.WindowsPodSandboxConfig{SecurityContext: security},
	}})
	must(r.test, err)
	return answer.PodSandboxId
}

// networkMode is what a kubelet sends: a HostProcess pod must be declared to be on the node's network.
func networkMode(security *v1.WindowsSandboxSecurityContext) v1.NamespaceMode {
	if security.GetHostProcess() {
		return v1.NamespaceMode_NODE
	}
	return v1.NamespaceMode_POD
}

func (r runtime) pull(image string) string {
	r.test.Helper()
	answer, err := r.PullImage(r.test.Context(), &v1.PullImageRequest{Image: &v1.ImageSpec{Image: image}})
	must(r.test, err)
	return answer.ImageRef
}

func (r runtime) create(sandbox, name, image string) (string, error) {
	answer, err := r.CreateContainer(r.test.Context(), &v1.CreateContainerRequest{
		PodSandboxId: sandbox,
		Config: &v1.ContainerConfig{
			Metadata: &v1.ContainerMetadata{Name: name},
			Image:    &v1.ImageSpec{Image: image},
			Labels:   map[string]string{"container": name},
		},
	})
	return answer.GetContainerId(), err
}

func (r runtime) run(sandbox, name string) string {
	r.test.Helper()
	container, err := r.create(sandbox, name, r.pull("pause"))
	must(r.test, err)
	_, err = r.StartContainer(r.test.Context(), &v1.StartContainerRequest{ContainerId: container})
	must(r.test, err)
	return container
}

func (r runtime) status(container string) *v1.ContainerStatus {
	r.test.Helper()
	answer, err := r.ContainerStatus(r.test.Context(), &v1.ContainerStatusRequest{ContainerId: container})
	must(r.test, err)
	return answer.Status
}

func (r runtime) sandboxStatus(sandbox string) *v1.PodSandboxStatus {
	r.test.Helper()
	answer, err := r.PodSandboxStatus(r.test.Context(), &v1.PodSandboxStatusRequest{PodSandboxId: sandbox})
	must(r.test, err)
	return answer.Status
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func want[V comparable](t *testing.T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestPodFromBirthToRemoval(t *testing.T) {
	r, ctx := started(t), t.Context()
	sandbox := r.sandbox("web", nil)
	container := r.run(sandbox, "app")

	want(t, "sandbox", r.sandboxStatus(sandbox).State, v1.PodSandboxState_SANDBOX_READY)
	want(t, "container", r.status(container).State, v1.ContainerState_CONTAINER_RUNNING)
	want(t, "image", r.status(container).Image.Image, "pause:latest")

	for range 2 { // stopping and removing what is stopped and removed is no error in CRI
		_, err := r.StopPodSandbox(ctx, &v1.StopPodSandboxRequest{PodSandboxId: sandbox})
		must(t, err)
	}
	want(t, "stopped sandbox", r.sandboxStatus(sandbox).State, v1.PodSandboxState_SANDBOX_NOTREADY)
	want(t, "stopped container", r.status(container).State, v1.ContainerState_CONTAINER_EXITED)
	want(t, "why it stopped", r.status(container).Reason, "Completed")

	for range 2 {
		_, err := r.RemovePodSandbox(ctx, &v1.RemovePodSandboxRequest{PodSandboxId: sandbox})
		must(t, err)
	}
	_, err := r.PodSandboxStatus(ctx, &v1.PodSandboxStatusRequest{PodSandboxId: sandbox})
	wantCode(t, codes.NotFound, err)
	_, err = r.ContainerStatus(ctx, &v1.ContainerStatusRequest{ContainerId: container})
	wantCode(t, codes.NotFound, err)
}

func TestRefusals(t *testing.T) {
	r, ctx := started(t), t.Context()
	sandbox := r.sandbox("web", nil)
	running := r.run(sandbox, "app")
	stopped := r.sandbox("old", nil)
	_, err := r.StopPodSandbox(ctx, &v1.StopPodSandboxRequest{PodSandboxId: stopped})
	must(t, err)

	cases := map[string]struct {
		code codes.Code
		ask  func() error
	}{
		"container in no sandbox": {codes.NotFound, func() error {
			_, err := r.create("nowhere", "app", "pause")
			return err
		}},
		"container in a stopped sandbox": {codes.FailedPrecondition, func() error {
			_, err := r.create(stopped, "app", "pause")
			return err
		}},
		"container of an image that was not pulled": {codes.NotFound, func() error {
			_, err := r.create(sandbox, "other", "elsewhere")
			return err
		}},
		"the same attempt of a container": {codes.AlreadyExists, func() error {
			_, err := r.create(sandbox, "app", "pause")
			return err
		}},
		"the same attempt of a pod": {codes.AlreadyExists, func() error {
			_, err := r.RunPodSandbox(ctx, &v1.RunPodSandboxRequest{Config: &v1.PodSandboxConfig{
				Metadata: &v1.PodSandboxMetadata{Name: "web", Uid: "web"},
			}})
			return err
		}},
		"start of what is started": {codes.FailedPrecondition, func() error {
			_, err := r.StartContainer(ctx, &v1.StartContainerRequest{ContainerId: running})
			return err
		}},
		"exec in an unknown container": {codes.NotFound, func() error {
			_, err := r.ExecSync(ctx, &v1.ExecSyncRequest{ContainerId: "nothing"})
			return err
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { wantCode(t, c.code, c.ask()) })
	}
}

func TestAddresses(t *testing.T) {
	r, ctx := started(t), t.Context()
	_, err := r.UpdateRuntimeConfig(ctx, &v1.UpdateRuntimeConfigRequest{RuntimeConfig: &v1.RuntimeConfig{
		NetworkConfig: &v1.NetworkConfig{PodCidr: "10.1.2.0/30,fd00::/64"},
	}})
	must(t, err)

	first := r.sandbox("first", nil)
	want(t, "first pod", r.sandboxStatus(first).Network.Ip, "10.1.2.2")
	want(t, "second pod", r.sandboxStatus(r.sandbox("second", nil)).Network.Ip, "10.1.2.3")
	hostProcess := r.sandbox("agent", &v1.WindowsSandboxSecurityContext{HostProcess: true})
	mode := r.sandboxStatus(hostProcess).GetLinux().GetNamespaces().GetOptions().GetNetwork()
	want(t, "HostProcess pod's network", mode, v1.NamespaceMode_NODE)
	want(t, "HostProcess pod", r.sandboxStatus(hostProcess).Network.Ip, "")

	_, err = r.RunPodSandbox(ctx, &v1.RunPodSandboxRequest{Config: &v1.PodSandboxConfig{
		Metadata: &v1.PodSandboxMetadata{Name: "third", Uid: "third"},
	}})
	wantCode(t, codes.ResourceExhausted, err)

	_, err = r.StopPodSandbox(ctx, &v1.StopPodSandboxRequest{PodSandboxId: first})
	must(t, err)
	want(t, "a freed address", r.sandboxStatus(r.sandbox("fourth", nil)).Network.Ip, "10.1.2.2")
}

func TestFilters(t *testing.T) {
	r, ctx := started(t), t.Context()
	web, old := r.sandbox("web", nil), r.sandbox("old", nil)
	app := r.run(web, "app")
	done := r.run(web, "init")
	must(t, errorOf(r.StopContainer(ctx, &v1.StopContainerRequest{ContainerId: done})))
	must(t, errorOf(r.StopPodSandbox(ctx, &v1.StopPodSandboxRequest{PodSandboxId: old})))

	ready := &v1.PodSandboxStateValue{State: v1.PodSandboxState_SANDBOX_READY}
	for name, c := range map[string]struct {
		filter *v1.PodSandboxFilter
		want   string
	}{
		"all, oldest first": {nil, web + " " + old},
		"by id":             {&v1.PodSandboxFilter{Id: old}, old},
		"by state":          {&v1.PodSandboxFilter{State: ready}, web},
		"by label":          {&v1.PodSandboxFilter{LabelSelector: map[string]string{"pod": "old"}}, old},
		"by all of them":    {&v1.PodSandboxFilter{Id: old, State: ready}, ""},
	} {
		t.Run("sandboxes "+name, func(t *testing.T) {
			answer, err := r.ListPodSandbox(ctx, &v1.ListPodSandboxRequest{Filter: c.filter})
			must(t, err)
			var ids []string
			for _, item := range answer.Items {
				ids = append(ids, item.Id)
			}
			want(t, "ids", strings.Join(ids, " "), c.want)
		})
	}

	exited := &v1.ContainerStateValue{State: v1.ContainerState_CONTAINER_EXITED}
	for name, c := range map[string]struct {
		filter *v1.ContainerFilter
		want   string
	}{
		"all, oldest first": {nil, app + " " + done},
		"by id":             {&v1.ContainerFilter{Id: app}, app},
		"by state":          {&v1.ContainerFilter{State: exited}, done},
		"by sandbox":        {&v1.ContainerFilter{PodSandboxId: old}, ""},
		"by label":          {&v1.ContainerFilter{LabelSelector: map[string]string{"container": "app"}}, app},
	} {
		t.Run("containers "+name, func(t *testing.T) {
			answer, err := r.ListContainers(ctx, &v1.ListContainersRequest{Filter: c.filter})
			must(t, err)
			var ids []string
			for _, item := range answer.Containers {
				ids = append(ids, item.Id)
			}
			want(t, "ids", strings.Join(ids, " "), c.want)
		})
	}
}

func errorOf[V any](_ V, err error) error { return err }

func TestImages(t *testing.T) {
	r, ctx := started(t), t.Context()
	id := r.pull("registry.example/team/app")
	for _, name := range []string{"registry.example/team/app", "registry.example/team/app:latest", id} {
		answer, err := r.ImageStatus(ctx, &v1.ImageStatusRequest{Image: &v1.ImageSpec{Image: name}})
		must(t, err)
		want(t, name, answer.GetImage().GetId(), id)
	}
	other, err := r.ImageStatus(ctx, &v1.ImageStatusRequest{Image: &v1.ImageSpec{Image: "registry.example/team/app:v2"}})
	must(t, err)
	want(t, "another tag is there", other.Image != nil, false)

	must(t, errorOf(r.RemoveImage(ctx, &v1.RemoveImageRequest{Image: &v1.ImageSpec{Image: id}})))
	left, err := r.ListImages(ctx, &v1.ListImagesRequest{})
	must(t, err)
	want(t, "images left", len(left.Images), 0)
}

func TestStatsAreOfWhatRuns(t *testing.T) {
	r, ctx := started(t), t.Context()
	sandbox := r.sandbox("web", nil)
	app := r.run(sandbox, "app")
	must(t, errorOf(r.StopContainer(ctx, &v1.StopContainerRequest{ContainerId: r.run(sandbox, "init")})))

	containers, err := r.ListContainerStats(ctx, &v1.ListContainerStatsRequest{})
	must(t, err)
	want(t, "containers measured", len(containers.Stats), 1)
	want(t, "which", containers.Stats[0].Attributes.Id, app)
	pods, err := r.ListPodSandboxStats(ctx, &v1.ListPodSandboxStatsRequest{})
	must(t, err)
	want(t, "containers in the pod's figures", len(pods.Stats[0].Windows.Containers), 1)
}

func TestStateOutlivesTheProgram(t *testing.T) {
	before := started(t)
	container := before.run(before.sandbox("web", nil), "app")
	born := before.status(container)

	after := start(t, before.state)
	want(t, "status", after.status(container).String(), born.String())
	want(t, "sandbox", after.sandboxStatus(after.sandbox("later", nil)).Network.Ip, "10.88.0.3")
}

func TestReboot(t *testing.T) {
	r := started(t)
	sandbox := r.sandbox("web", nil)
	container := r.run(sandbox, "app")
	want(t, "answer", r.tell("POST", "/reboot", ""), http.StatusOK)
	want(t, "sandbox", r.sandboxStatus(sandbox).State, v1.PodSandboxState_SANDBOX_NOTREADY)
	want(t, "exit code", r.status(container).ExitCode, 255)
}

func TestContainerThatEndsByItself(t *testing.T) {
	r := started(t)
	container := r.run(r.sandbox("web", nil), "app")
	want(t, "an unknown one", r.tell("POST", "/containers/nothing/exit?code=3", ""), http.StatusNotFound)
	want(t, "no code", r.tell("POST", "/containers/app/exit", ""), http.StatusBadRequest)
	want(t, "answer", r.tell("POST", "/containers/app/exit?code=3", ""), http.StatusOK)
	want(t, "exit code", r.status(container).ExitCode, 3)
	want(t, "reason", r.status(container).Reason, "Error")
}

func TestFaults(t *testing.T) {
	r := started(t)
	version := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		answer, err := r.Version(ctx, &v1.VersionRequest{})
		if err == nil {
			want(t, "the runtime's name", answer.RuntimeName, "containerd")
		}
		return err
	}
	images := func() error { return errorOf(r.ListImages(t.Context(), &v1.ListImagesRequest{})) }

	want(t, "an error by name", r.tell("PUT", "/faults", `{"errors": {"Version": "INTERNAL"}}`), http.StatusOK)
	wantCode(t, codes.Internal, version(time.Minute))
	wantCode(t, codes.OK, images())

	want(t, "errors for all but one", r.tell("PUT", "/faults", `{"errors": {"*": "UNAVAILABLE", "Version": "OK"}}`), http.StatusOK)
	wantCode(t, codes.OK, version(time.Minute))
	wantCode(t, codes.Unavailable, images())

	want(t, "slow", r.tell("PUT", "/faults", `{"delays": {"Version": 60}}`), http.StatusOK)
	wantCode(t, codes.DeadlineExceeded, version(50*time.Millisecond))

	want(t, "down", r.tell("PUT", "/faults", `{"down": true}`), http.StatusOK)
	wantCode(t, codes.Unavailable, version(time.Minute))

	want(t, "well again", r.tell("PUT", "/faults", `{}`), http.StatusOK)
	for wantedUp := time.Now().Add(10 * time.Second); version(time.Minute) != nil; {
		if time.Now().After(wantedUp) {
			t.Fatal("the runtime did not come back")
		}
	}
}

func TestFaultsThatWouldProveNothing(t *testing.T) {
	r := started(t)
	for name, body := range map[string]string{
		"misspelt method": `{"errors": {"ListContainer": "INTERNAL"}}`,
		"unknown code":    `{"errors": {"ListContainers": "BROKEN"}}`,
		"unknown fault":   `{"lame": true}`,
	} {
		t.Run(name, func(t *testing.T) { want(t, "answer", r.tell("PUT", "/faults", body), http.StatusBadRequest) })
	}
}

func TestCallsAreCounted(t *testing.T) {
	store, err := OpenStore(filepath.Join(t.TempDir(), "state.json"))
	must(t, err)
	door := NewDoor("", NewServer(store))
	must(t, door.Misbehave(Faults{Down: true, Errors: map[string]codes.Code{"Version": codes.Internal}}))
	info := &grpc.UnaryServerInfo{FullMethod: "/runtime.v1.RuntimeService/Version"}
	for range 3 {
		_, err := door.pass(t.Context(), nil, info, func(context.Context, any) (any, error) { return nil, nil })
		wantCode(t, codes.Internal, err)
	}
	want(t, "calls", door.Calls()["Version"], 3)
}

func TestDamagedStateIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	must(t, (&Store{path: path}).save())
	if _, err := OpenStore(path); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(filepath.Dir(path)); err == nil {
		t.Error("a folder was taken for a state file")
	}
}
