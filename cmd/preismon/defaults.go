package main

import (
	"strconv"

	"preismon/query"

	"github.com/alecthomas/kong"
)

// defaults provides the packages' own defaults to the flags' definitions.
func defaults() kong.Vars {
	q := query.Defaults()
	return kong.Vars{
		"local_server": localServer,

		"soft_deadline": q.SoftDeadline.String(),
		"hard_budget":   q.HardBudget.String(),

		"preact": preactVersion, "uplot": uplotVersion,

		"archive_download_max_bytes": strconv.FormatInt(q.MaxDownloadBytes, 10),
	}
}
