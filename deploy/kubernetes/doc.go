// Package kubernetes holds the manifests for clusters, and their test.
package kubernetes
