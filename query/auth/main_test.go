package auth_test

import (
	"testing"

	"preismon/deploy/testserver"
)

func TestMain(m *testing.M) {
	testserver.AtOnce(6) // those that are parallel mostly wait
	testserver.Main(m)
}
