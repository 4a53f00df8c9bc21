# .ci/run --changed: what a person runs before a commit. It looks at the files that differ from HEAD or, if none
# does, at those of the last commit; lints their packages, tests these and the packages that import them, and runs
# the mutants in them.
# shellcheck shell=bash

since=HEAD
if [[ -z $(git status --porcelain) ]]; then
	since=HEAD~1
fi
mapfile -t files < <({
	git diff --name-only "$since"
	git ls-files --others --exclude-standard
} | sort -u)

# A file belongs to the package of the nearest folder that has Go files.
declare -A touched=()
for file in "${files[@]}"; do
	dir=$(dirname "$file")
	while [[ $dir != . ]] && ! compgen -G "$dir/*.go" >/dev/null; do
		dir=$(dirname "$dir")
	done
	[[ $dir == . && $file != *.go ]] || touched[$PWD/${dir#.}]=1
done
path=github.com/fairlead-go/fairlead
for dir in "${!touched[@]}"; do
	dir=${dir%/}
	touched[$path${dir#"$PWD"}]=1
	unset "touched[$dir]" "touched[$dir/]"
done

# Of each module: the touched packages, and the ones to test.
declare -A to_lint=() to_test=()
for module in "${modules[@]}"; do
	while read -r package imports; do
		if [[ -n ${touched[$package]:-} ]]; then
			to_lint[$module]+=" $package"
			to_test[$module]+=" $package"
			continue
		fi
		for import in $imports; do
			if [[ -n ${touched[$import]:-} ]]; then
				to_test[$module]+=" $package"
				break
			fi
		done
	done < <(go -C "$module" list -e -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./...)
done

ci_lint_changed() {
	local module=$path
	[[ $1 == . ]] || module+=/$1
	read -ra packages <<<"${to_lint[$1]}"
	packages=("${packages[@]/#"$module"/.}") # the linter wants folders
	ci_lint "$1"
}

ci_test_changed() {
	read -ra packages <<<"${to_test[$1]}"
	tests "test-${1//\//-}" "$1" "${packages[@]}"
}

ci_mutants_changed() {
	engines
	run go -C verify run ./mutants -since "$since"
}

chosen=(layout tidy apply)
for module in "${modules[@]}"; do
	[[ -z ${to_lint[$module]:-} ]] || chosen+=("lint_changed:$module")
done
for module in "${modules[@]}"; do
	[[ -z ${to_test[$module]:-} ]] || chosen+=("test_changed:$module")
done
chosen+=(mutants_changed)
play "${chosen[@]}"
