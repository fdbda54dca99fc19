package main

// elsewhere lists the blocks that TestDocs leaves to another test, by document
// and first line, with the name of that test. Under deploy/docs the document
// states the same, in the same words.
var elsewhere = map[string]string{
	"README.md: preismon login --login anna@demo-hersteller-nord.example":                                                                 "TestUpDemo/readme does",
	"how-to/connect-an-agent.md: npx mcp-remote@0.15.1 http://127.0.0.1:8080/mcp":                                                         "clients_remote_test.go does so, with a person at the browser.",
	"how-to/add-a-query-node.md: preismon query --config query.yaml":                                                                      "it runs until it is stopped; roles_test.go runs several nodes.",
	"how-to/more-than-one-machine.md: preismon migrate --clickhouse-dsn @admin-dsn-0 --clickhouse-cluster preismon --unreplicated":        "it needs three servers; cmd/preismon/shards runs it on three of its own.",
	"how-to/more-than-one-machine.md: preismon projector --config projector-0.yaml":                                                       "it runs until it is stopped; cmd/preismon/shards runs one for each partition, and kills one.",
	"how-to/more-than-one-machine.md: preismon query --config query-0.yaml":                                                               "it runs until it is stopped; cmd/preismon/shards runs nodes at different shards.",
	"how-to/upgrade.md: kubectl -n preismon delete job preismon-migrate --ignore-not-found":                                               "it needs a cluster; TestKubectl of deploy/kubernetes runs it up to the dry run.",
	"how-to/run-with-containers.md: docker compose --profile demo up --build --detach":                                                    "it needs a Docker engine; TestCompose of deploy/compose brings docker-compose.yml up and uses it.",
	"how-to/run-with-containers.md: docker compose ps":                                                                                    "it needs a Docker engine; TestCompose of deploy/compose does the same.",
	"how-to/run-on-kubernetes.md: cp -r ../deploy/kubernetes/overlays/example ../deploy/kubernetes/overlays/mine":                         "it needs the clone; TestHowTo of deploy/kubernetes runs it.",
	"how-to/run-on-kubernetes.md: kubectl create namespace preismon":                                                                      "it needs a cluster; TestKubectl of deploy/kubernetes runs it up to the dry run, and TestDocsSecrets compares the keys.",
	"how-to/run-on-kubernetes.md: kubectl -n preismon delete job preismon-migrate --ignore-not-found":                                     "it needs a cluster; TestKubectl of deploy/kubernetes runs it up to the dry run, and TestHowTo looks for what is named.",
	"how-to/run-on-kubernetes.md: kubectl -n preismon create job --from=cronjob/preismon-backup preismon-backup-now":                      "it needs a cluster; TestKubectl of deploy/kubernetes runs it up to the dry run, and TestHowTo looks for what is named.",
	"how-to/watch.md: sed -i 's|https://prices.example.com|https://prices.example.org|' deploy/prometheus/alerts.yml":                     "it needs the clone; TestRunbookAddress of deploy/prometheus runs it.",
	"how-to/take-csv-arrow-or-parquet.md: import pyarrow as pa, polars as pl":                                                             "Debian has neither; TestAnalystsReadersReadTables reads the same bytes by Polars and arrow-js.",
	"how-to/take-csv-arrow-or-parquet.md: SET force_download = true;":                                                                     "httpfs is fetched from DuckDB's own server; TestWholeGets sends the same request.",
	"how-to/generate-a-client.md: # Go":                                                                                                   "it needs the generators; TestUpDemo/generated runs the same, with the settings in cmd/preismon/testdata/generated.",
	"how-to/import-your-csv.md: preismon import --watch inbox --map shop.yaml --mandate \"Our shop\" --login me --data-dir preismon-data": "it goes on until it is stopped; TestImportFiles watches a folder.",
}

// inlineElsewhere lists the commands within sentences that are in no block, and
// the tests that run them.
var inlineElsewhere = map[string]string{
	"preismon query --base-url https://prices.example.com …": "roles_test.go runs nodes with a base URL",
	"go run ./cmd/bench": "TestBenchSmall runs the same on less",
	"go run ./cmd/bench --only size,page,hot,costs,drain":                       "TestBenchSmall runs the same on less",
	"go run ./cmd/bench --quick":                                                "TestBenchSmall runs the same on less",
	"go run ./cmd/bench --quick --import observations.csv.gz":                   "TestBenchSmall runs the same on less",
	"preismon backup --to NAME":                                                 "TestBackupDrill",
	"preismon restore --from NAME":                                              "TestBackupDrill",
	"preismon restore --data-dir new-data --from preismon-data-backups/monday":  "TestBackupDrill",
	"preismon audit --archives":                                                 "TestAuditArchives",
	"preismon doctor --data-dir ./preismon-data --json":                         "doctor_test.go",
	"preismon explorer-assets FOLDER":                                           "TestExplorerAssets",
	"preismon trace EVENT_ID":                                                   "trace_event_test.go",
	"preismon lookup --file eans.txt":                                           "exit_partial_test.go",
	"preismon export --split day":                                               "export_split_test.go",
	"preismon explain 'results --site demo-markt-de.example --from 2026-01-01'": "explain_test.go",
	"preismon explain lookup --file eans.txt":                                   "explain_test.go explains a lookup",
	"preismon explain history download 5 --latest":                              "client_test.go explains a download",
	"kill -9":                      "TestUpKilled",
	"curl -i":                      "docs_test.go has connect-an-agent.md run it with more flags",
	"go generate ./query/explorer": "generated_test.go compares what it makes",
	"PREISMON_TEST=full go test ./cmd/preismon -run TestDocs": "TestDocs is it",
	"go test ./cmd/preismon -run TestReference -update":       "TestReference compares what it writes",
	"go test ./query/mcp -run Questions -v":                   "TestQuestions",
}

// nowhere lists the commands that no test runs, and why: blocks by document and
// first line, where the document gives the reason in the same words, and
// commands within sentences by their text.
var nowhere = map[string]string{
	"kubectl rollout restart":       "it needs a cluster",
	"go list -m -u":                 "it asks for versions that are newer each week",
	"go test ./query/store -update": "it is a test itself, and writes",
	"README.md: go test ./...":      "this is it",
	"how-to/trace.md: docker run --rm --detach -p 127.0.0.1:16686:16686 -p 127.0.0.1:4318:4318 jaegertracing/jaeger":                       "it needs an image that is not here; observe_test.go has both send to a collector.",
	"contribute.md: go test ./query/rest -run 'TestName$' -v":                                                                              "it is a test itself.",
	"contribute.md: PREISMON_TEST=full go test -p 2 -timeout 60m ./...":                                                                    "it is a test itself.",
	"contribute.md: PREISMON_TEST=full go test ./cmd/preismon/faults -fault.for 15m -timeout 30m -v":                                       "it is a test itself.",
	"contribute.md: go test ./cmd/preismon/faults -run '^TestCluster$' -cluster.for 15m -timeout 30m -v":                                   "it is a test itself.",
	"contribute.md: PREISMON_TEST=full go test ./cmd/preismon/load -run '^TestRememberedUnderLoad$' -load.compared 1000000 -timeout 4h -v": "it is a test itself.",
	"contribute.md: PREISMON_TEST=full go test ./cmd/preismon -run 'TestUpDemo$/explorer' -screenshots /tmp/pictures":                      "it is a test itself.",
	"contribute.md: go test ./projector/schema -update":                                                                                    "it is a test itself, and writes.",
}
