package main

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What an image takes up: some amount, so that nobody's arithmetic meets a zero.
const imageSize = 100 << 20

func (s *Server) PullImage(_ context.Context, r *v1.PullImageRequest) (*v1.PullImageResponse, error) {
	name := r.GetImage().GetImage()
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "an image to pull has no name")
	}
	id := imageID(name)
	err := s.store.Change(func(c *Contents) error {
		c.Images[id] = &Image{ID: id, Names: []string{normal(name)}, PulledAt: now()}
		return nil
	})
	return &v1.PullImageResponse{ImageRef: id}, err
}

func (s *Server) ImageStatus(_ context.Context, r *v1.ImageStatusRequest) (*v1.ImageStatusResponse, error) {
	answer := &v1.ImageStatusResponse{}
	err := s.store.Read(func(c *Contents) error {
		if image := c.image(r.GetImage().GetImage()); image != nil {
			answer.Image = image.message()
		}
		return nil
	})
	return answer, err
}

func (s *Server) ListImages(_ context.Context, r *v1.ListImagesRequest) (*v1.ListImagesResponse, error) {
	answer := &v1.ListImagesResponse{}
	err := s.store.Read(func(c *Contents) error {
		wanted := r.GetFilter().GetImage().GetImage()
		for _, image := range c.Images {
			if wanted == "" || c.image(wanted) == image {
				answer.Images = append(answer.Images, image.message())
			}
		}
		return nil
	})
	slices.SortFunc(answer.Images, func(a, b *v1.Image) int { return cmp.Compare(a.Id, b.Id) })
	return answer, err
}

func (s *Server) RemoveImage(_ context.Context, r *v1.RemoveImageRequest) (*v1.RemoveImageResponse, error) {
	return &v1.RemoveImageResponse{}, s.store.Change(func(c *Contents) error {
		if image := c.image(r.GetImage().GetImage()); image != nil {
			delete(c.Images, image.ID)
		}
		return nil
	})
}

func (s *Server) ImageFsInfo(context.Context, *v1.ImageFsInfoRequest) (*v1.ImageFsInfoResponse, error) {
	var images int
	err := s.store.Read(func(c *Contents) error {
		images = len(c.Images)
		return nil
	})
	usage := []*v1.FilesystemUsage{{
		Timestamp: now(),
		// The kubelet asks Windows for the size of this place, so it has to be there.
		FsId:       &v1.FilesystemIdentifier{Mountpoint: `C:\`},
		UsedBytes:  &v1.UInt64Value{Value: uint64(images+1) * imageSize},
		InodesUsed: &v1.UInt64Value{Value: 1},
	}}
	return &v1.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, err
}

func (i *Image) message() *v1.Image {
	return &v1.Image{Id: i.ID, RepoTags: i.Names, Size: imageSize, Spec: &v1.ImageSpec{Image: i.ID}}
}
