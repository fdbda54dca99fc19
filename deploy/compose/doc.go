// Package compose holds the test of docker-compose.yml and of the images, run
// on a real Docker engine, and variants of the file for other servers.
package compose
