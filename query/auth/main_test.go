package auth_test

import (
	"testing"

	"preismon/deploy/testserver"
)

func TestMain(m *testing.M) {
	testserver.AtOnce(6) // parallel tests mostly wait
	testserver.Main(m)
}
