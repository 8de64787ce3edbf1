package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// image describes an image archive. It contains the digest that the image has in a registry, and the labels by
// architecture.
type image struct {
	digest string
	labels map[string]map[string]string
}

// pointer refers to a blob by its digest. manifest is an image index or an image manifest.
type (
	pointer struct {
		Digest   string `json:"digest"`
		Platform struct {
			Architecture string `json:"architecture"`
		} `json:"platform"`
	}
	manifest struct {
		Manifests []pointer `json:"manifests"`
		Config    pointer   `json:"config"`
	}
)

// readImage reads an OCI archive that buildah has written. Its index has a single entry, which is another index with
// one entry for each architecture.
func readImage(file string) (image, error) {
	blobs, err := documents(file)
	if err != nil {
		return image{}, fmt.Errorf("read the image %s: %w", file, err)
	}
	var outer, list manifest
	if err := json.Unmarshal(blobs["index.json"], &outer); err != nil || len(outer.Manifests) != 1 {
		return image{}, fmt.Errorf("read the image %s: its index has %d entries, %w", file, len(outer.Manifests), err)
	}
	found := image{digest: outer.Manifests[0].Digest, labels: map[string]map[string]string{}}
	if err := follow(blobs, outer.Manifests[0], &list); err != nil {
		return image{}, fmt.Errorf("read the image %s: %w", file, err)
	}
	for _, p := range list.Manifests {
		var one manifest
		var about struct {
			Config struct {
				Labels map[string]string `json:"Labels"`
			} `json:"config"`
		}
		if err := errors.Join(follow(blobs, p, &one), follow(blobs, one.Config, &about)); err != nil {
			return image{}, fmt.Errorf("read the image %s: %w", file, err)
		}
		found.labels[p.Platform.Architecture] = about.Config.Labels
	}
	return found, nil
}

func follow(blobs map[string][]byte, p pointer, to any) error {
	if err := json.Unmarshal(blobs["blobs/"+strings.Replace(p.Digest, ":", "/", 1)], to); err != nil {
		return fmt.Errorf("blob %s: %w", p.Digest, err)
	}
	return nil
}

// documents returns the files of the archive. It skips large files, because they cannot be JSON documents.
func documents(file string) (map[string][]byte, error) {
	archive, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	found := map[string][]byte{}
	for reader := tar.NewReader(archive); ; {
		head, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		case head.Size > 1<<20:
			continue
		}
		if found[head.Name], err = io.ReadAll(reader); err != nil {
			return nil, err
		}
	}
}
