package faults_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// row is one row of the matrix of faults: what is broken, and what proves that
// it does no harm: faults of this package by name, and tests elsewhere.
type row struct {
	what   string
	faults []string
	tests  []string
}

// matrix lists every fault that was thought of, in the order of its numbers.
var matrix = []row{
	{"projector killed, at every step of a batch", []string{
		"projector-killed", "killed-after-fetch", "killed-mid-block", "killed-after-commit", "killed-before-table-2", "killed-before-table-3",
		"killed-before-table-4", "killed-before-checkpoint", "killed-before-acknowledgement",
	}, []string{"TestChaos", "TestSteps", "TestUpKilled"}},
	{"zombie leader", []string{"zombie", "zombie-in-insert"}, []string{"TestZombie", "TestZombieDeletion"}},
	{"two leaders at once", []string{"two-leaders", "leases-lost"}, []string{"TestEpochs", "TestDeposedSinkEndsTheLoopAndTheTerm"}},
	{"ClickHouse killed while it inserts", []string{"clickhouse-killed", "clickhouse-killed-in-insert", "takeover-without-clickhouse"}, []string{"TestServerKilled"}},
	{"answer lost after the commit", []string{"reply-lost", "answers-cut"}, []string{"TestLate"}},
	{"connection reset or blackholed in a block", []string{"insert-cut", "clickhouse-blackholed", "clickhouse-blackholed-long"}, []string{"TestCut", "TestStall"}},
	{"slow ClickHouse", []string{"clickhouse-slow", "clickhouse-stopped", "clickhouse-stopped-long", "clickhouse-starved"}, []string{"TestStalledClickHouse"}},
	{"disk of ClickHouse full, then free again", []string{"clickhouse-disk-full"}, nil},
	{"ClickHouse refuses: 241, 252, 242 (774 without replicas), 159, 202", []string{
		"clickhouse-out-of-memory", "clickhouse-too-many-parts", "clickhouse-read-only", "clickhouse-timeout", "clickhouse-too-many-queries",
	}, []string{"TestFailuresByKind", "TestHardBudget"}},
	{"NATS killed while it takes and gives", []string{"nats-killed", "nats-cut", "nats-stopped"}, []string{"TestConsumerOutlivesTheServer"}},
	{"disk of NATS full, limits of account and stream", []string{"nats-disk-full", "nats-limit-reached", "stream-full"}, []string{"TestPublisherFullStreamIsWaitedForUntilTheCallerLeaves"}},
	{"NATS loses its tail, as without power", []string{"nats-restored"}, []string{"TestConsumerBeginsANewEpochAfterALostTail"}},
	{"floor of acknowledgements reset, consumer gone", []string{"acknowledgement-floor-reset", "acknowledgement-lost", "consumer-deleted"}, []string{"TestReplay"}},
	{"stream recreated, its sequences begin again", []string{"stream-recreated"}, []string{"TestConsumerStartsOverWithANewStream", "TestEpochs"}},
	{"producer cut off for longer than ids are remembered", []string{"window-expired", "published-twice", "publish-acknowledgement-lost"}, []string{"TestReplay"}},
	{"messages that are no events", []string{"poison"}, []string{"TestConsumerPutsPoisonIntoTheDeadLetters", "FuzzDecode"}},
	{"query node or ClickHouse killed in a read", []string{"query-killed", "query-cut", "clickhouse-killed", "notify-service-away"}, []string{"TestBrokenStreamsAreVisible", "TestCurlSeesBrokenStreams"}},
	{"object store cut in a file", []string{"archive-cut", "archive-stalled", "archive-gone"}, []string{"TestDownloadWhenS3IsCut", "TestCutDownload", "TestCutUpload", "TestLostAnswer"}},
	{"scope changes under a walk, foreign and changed cursors", []string{"granted-and-revoked", "granted-and-killed", "foreign-cursors"}, []string{"TestScopeSteps", "TestOwnersLearnWhatDiffers", "TestGrantsHoldAtOnce"}},
	{"query node hears nothing of revocations", []string{"revocations-unheard"}, []string{"TestRevocationFailsClosed", "TestRevocationFindsAQuietWatch"}},
	{"tokens end while answers run: logout, expiry, disabled account, rotated key", []string{
		"token-logged-out", "token-expired", "account-disabled", "key-rotated",
	}, []string{"TestStreamsDoNotOutliveTheirToken", "TestHoldEndsWithItsToken", "TestKeyFilesAreFollowed"}},
	{"codes and refresh tokens raced for", []string{"codes-raced", "codes-raced-and-killed", "refresh-raced"}, []string{"TestCodeRace", "TestRefreshRace", "TestRevocationIsDecidedOnce", "TestReuseAndHangUp"}},
	// A clock that is set while a process runs is covered by tests of the
	// packages, whose clocks can be set.
	{"clock", []string{"clock-was-ahead"}, []string{"TestTokensExpire", "TestClockChanges", "TestWindows", "TestSoftDeadline", "TestLeaseFenceComesFromTheTables"}},
	{"no memory, no files", []string{"projector-out-of-memory", "projector-out-of-files"}, []string{"TestDownloadMemory"}},
	{"rolling restart, migration under load", []string{"rolled-out-before-migration"}, []string{"TestPast", "TestMigrated", "TestMigrateIntoCluster", "TestProjectorMeetsTablesLate", "TestRoles", "TestOperate"}},
	{"a cluster of NATS: followers late, servers killed, deposed, cut off, on an old disk", nil, []string{"TestCluster", "TestConsumerOnALateFollower", "TestGap"}},
	{"statement that comes after its own repetition", []string{"clickhouse-blackholed"}, []string{"TestLateStatement"}},
	{"rows lost behind the checkpoint", []string{"rows-lost"}, []string{"TestProof", "TestProofPassesLostMessages", "TestTablesGoBack"}},
	{"damaged copy in the first archive", []string{"archive-damaged"}, []string{"TestDownloadOfDamagedFiles"}},
	{"records that must not be applied: an order beyond its pairs, a login that is taken", []string{"order-beyond-its-pairs", "login-taken"}, []string{"TestPairsAreBounded", "TestLoginsOfOthers"}},
	{"compositions by chance", nil, []string{"TestFaults", "TestCluster"}},
}

// TestMatrix: every row is proved by something that exists, and every fault
// belongs to a row.
func TestMatrix(t *testing.T) {
	if len(matrix) != 31 {
		t.Errorf("%d rows, the matrix has 31", len(matrix))
	}
	equals.Is(t, len(concurrent), len(concurrentFaults()), "of faults run beside those of a cluster")
	known := map[string]bool{}
	for _, f := range faults {
		if known[f.name] {
			t.Errorf("fault %s is there twice", f.name)
		}
		known[f.name] = true
	}
	tests := testsOfTheModule(t)
	var used []string
	for n, r := range matrix {
		if len(r.faults)+len(r.tests) == 0 {
			t.Errorf("row %d, %s, is proved by nothing", n+1, r.what)
		}
		for _, name := range r.faults {
			used = append(used, name)
			if !known[name] {
				t.Errorf("row %d, %s: there is no fault %s", n+1, r.what, name)
			}
		}
		for _, name := range r.tests {
			if !tests[name] {
				t.Errorf("row %d, %s: there is no test %s", n+1, r.what, name)
			}
		}
	}
	for name := range known {
		if !slices.Contains(used, name) {
			t.Errorf("fault %s belongs to no row", name)
		}
	}
}

var testName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func testsOfTheModule(t *testing.T) map[string]bool {
	all := map[string]bool{}
	must.Do(t, filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testName.FindAllSubmatch(text, -1) {
			all[string(m[1])] = true
		}
		return err
	}))
	return all
}
