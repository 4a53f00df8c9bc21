# Reads the arguments of .ci/run and .ci/nightly: sets `chosen` to the wanted ones of `names`.
# shellcheck shell=bash

wanted=()
for arg in "$@"; do
	case $arg in
	-list | --list)
		printf '%s\n' "${names[@]}"
		exit
		;;
	--install | -install) install=true ;;
	.) wanted+=(.) ;;
	-*)
		sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
		exit 2
		;;
	*)
		arg=${arg#./}
		wanted+=("${arg%/}")
		;;
	esac
done

chosen=()
for name in "${names[@]}"; do
	for arg in "${wanted[@]:-$name}"; do
		if [[ $name == "$arg" || ${name%%:*} == "$arg" || $name == *:"$arg" ]]; then
			chosen+=("$name")
			break
		fi
	done
done
for arg in "${wanted[@]}"; do
	if ! printf '%s\n' "${names[@]}" | grep -qE "(^|:)$(printf '%s' "$arg" | sed 's/[.[*^$()+?{|]/\\&/g')(:|\$)"; then
		echo "ci: there is no step or module $arg; see $0 -list" >&2
		exit 2
	fi
done
