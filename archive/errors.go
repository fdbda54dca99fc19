package archive

import (
	"context"
	"fmt"

	"preismon/contracts/fault"
)

func invalid(err error) error {
	return fault.Wrap(fmt.Errorf("archive: %w", err), fault.Invalid, "the artifact's description is not valid")
}

func badContent(key Key, why string) error {
	return fault.Wrap(fmt.Errorf("archive: put %s: %s", key, why), fault.Invalid,
		"the content is not what its description says")
}

func notFound(key Key) error {
	return fault.Wrap(fmt.Errorf("archive: no content under %s", key), fault.NotFound, "the artifact has no content")
}

func conflict(key Key) error {
	return fault.Wrap(fmt.Errorf("archive: put %s: %w", key, ErrConflict), fault.Conflict,
		"the artifact exists with other content")
}

func corrupt(key Key, why string) error {
	return fault.Wrap(fmt.Errorf("archive: read %s: %w: %s", key, ErrCorrupt, why), fault.Internal,
		"the archived file is damaged")
}

// unavailable returns the error of ctx if that has ended, otherwise the fault
// of a store that cannot be used now. A store's own timeout is not the
// caller's.
func unavailable(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("archive: %s: %w", op, ctx.Err())
	}
	return fault.Wrap(fmt.Errorf("archive: %s: %w", op, err), fault.Unavailable, "the artifact store cannot be used now")
}
