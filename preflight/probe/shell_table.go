package probe

// A shellRow is one row, or several commands that are alike, of what reads.
//
// A flag is listed as it is written: with = behind one that takes a value and ? behind one
// that may have a value attached with =; -# is a bare number. What is not listed asks a
// person, so a row may be short; what is listed must read in every version of the program:
// GNU's, the BSDs' and busybox's. A command that can run another one, follow something for
// ever, evaluate what it is given, or take a file to write as an operand is not here, or not in that form.
type shellRow struct {
	names    string // joined by ", "; a command of a command has both names: git log
	flags    string
	operands operands
	shape    string // a regular expression for all operands, joined by NULs, which no operand holds, where operands is matched
}

const (
	gitCommits = ` -# -n= --max-count= --oneline --graph --decorate? --all --since= --until= --after= --before= --author= --committer=
		--grep= --merges --no-merges --first-parent --reverse --follow --abbrev-commit --abbrev? --date= --format? --pretty?
		-i -E -F --skip= --topo-order --date-order --tags? --branches? --remotes?`
	gitPatch = ` -p --patch -s --no-patch --stat? --shortstat --numstat --name-only --name-status --summary --raw -U= --unified=
		-w --ignore-all-space -b --ignore-space-change --color? --no-color --word-diff? -M -C -S= -G= --diff-filter= --no-ext-diff
		--no-textconv --check --minimal --patience --histogram --relative? -R -a --text -z --quiet --exit-code`
	kubeAll = ` -n= --namespace= --context= --cluster= -A --all-namespaces -l= --selector= --request-timeout=`
	kubeOut = ` -o= --output= --show-labels --no-headers --sort-by= --field-selector= --show-kind --ignore-not-found -L= --label-columns=`
	list    = ` -a --all -q --quiet --no-trunc --format= -f= --filter= -n= --last= -l --latest -s --size`
	ghPage  = ` -R= --repo= --json= -q= --jq= -t= --template= -L= --limit= -s= --state= -l= --label= -a= --author= --assignee= -S= --search= -c --comments`
)

var shellTable = []shellRow{
	// files
	{"ls", "-# -a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z -1 --all --almost-all --author --color? --directory --full-time --group-directories-first --human-readable --inode --no-group --numeric-uid-gid --recursive --reverse --si --size --sort= --time= --time-style=", globs, ""},
	{"cat", "-A -b -e -E -n -s -t -T -u -v --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank", globs, ""},
	{"head", "-# -n= -c= -q -v -z --lines= --bytes= --quiet --verbose", globs, ""},
	{"tail", "-# -n= -c= -q -v -z --lines= --bytes= --quiet --verbose", anything, ""},
	{"wc", "-c -m -l -L -w --bytes --chars --lines --words --max-line-length", globs, ""},
	{"stat", "-c= -f -L -t -x --format= --printf= --terse --dereference --file-system", anything, ""},
	{"du", "-# -a -b -c -d= -h -H -k -L -m -P -s -S -x --all --apparent-size --bytes --human-readable --max-depth= --summarize --total --exclude=", globs, ""},
	{"df", "-a -h -H -i -k -l -m -P -t= -T -x= --all --human-readable --inodes --local --print-type --total", anything, ""},
	{"tree", "-a -d -f -h -i -L= -I= -P= -s -t -r -D -F -C -n --dirsfirst --du --gitignore --noreport --prune --filelimit=", anything, ""},
	{"find", `-H -L -P -name= -iname= -path= -ipath= -wholename= -type= -maxdepth= -mindepth= -size= -empty -mtime= -mmin= -ctime= -cmin= -atime= -amin=
		-newer= -user= -group= -perm= -nouser -nogroup -links= -inum= -readable -writable -executable -regex= -iregex= -lname=
		-a -and -o -or -not -prune -depth -xdev -mount -follow -true -false -print -print0 -ls -printf=`, anything, ""},
	{"basename, dirname", "-a -s= -z --multiple --suffix= --zero", anything, ""},
	{"realpath, readlink", "-e -f -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --relative-to= --relative-base=", anything, ""},
	{"md5sum, sha1sum, sha224sum, sha256sum, sha384sum, sha512sum, b2sum, cksum", "-b -c -t --binary --check --text --tag --quiet --status --strict", anything, ""},
	{"cmp", "-b -l -s -i= -n= --print-bytes --verbose --quiet --silent", anything, ""},
	{"diff", "-a -b -B -c -C= -d -E -i -I= -N -p -q -r -s -t -T -u -U= -w -W= -x= -y --brief --color? --exclude= --ignore-all-space --ignore-blank-lines --ignore-case --minimal --new-file --no-dereference --recursive --report-identical-files --side-by-side --suppress-common-lines --text --unified? --width=", anything, ""},
	{"od, hexdump", "-A= -b -c -C -d -j= -n= -N= -o -s= -t= -v -x", anything, ""},
	{"strings", "-# -a -e= -f -n= -o -t= --all --bytes= --encoding= --radix=", anything, ""},
	{"file", "-b -h -i -I -k -L -N -r -s --brief --mime --mime-type --mime-encoding --dereference --no-dereference", anything, ""},

	// text
	{"grep, egrep, fgrep", `-# -a -A= -b -B= -c -C= -e= -E -f= -F -G -h -H -i -I -l -L -m= -n -o -P -q -r -R -s -T -U -v -w -x -y -z -Z
		--after-context= --before-context= --context= --count --color? --colour? --exclude= --exclude-dir= --exclude-from= --extended-regexp
		--file= --files-with-matches --files-without-match --fixed-strings --ignore-case --include= --invert-match --line-number --line-regexp
		--max-count= --no-filename --no-messages --null --only-matching --perl-regexp --quiet --recursive --regexp= --text --with-filename --word-regexp`, globs, ""},
	{"rg", `-# -a -A= -B= -c -C= -e= -E= -f= -F -g= -h -H -i -I -j= -l -L -m= -M= -n -N -o -p -P -q -s -S -t= -T= -u -U -v -w -x -0 -.
		--after-context= --before-context= --color= --column --context= --count --count-matches --files --files-with-matches --files-without-match
		--fixed-strings --glob= --heading --hidden --iglob= --ignore-case --invert-match --json --line-number --max-columns= --max-count= --max-depth=
		--multiline --no-config --no-filename --no-heading --no-ignore --no-line-number --only-matching --pcre2 --regexp= --smart-case --sort= --stats
		--text --trim --type= --type-list --type-not= --vimgrep --word-regexp`, anything, ""},
	{"sort", "-b -c -C -d -f -g -h -i -k= -M -m -n -r -R -s -t= -u -V -z --check? --dictionary-order --field-separator= --general-numeric-sort --human-numeric-sort --ignore-case --key= --numeric-sort --reverse --stable --unique --version-sort --zero-terminated", anything, ""},
	{"uniq", "-c -d -D -f= -i -s= -u -w= -z --count --repeated --unique --ignore-case", nothing, ""}, // its second operand is a file to write
	{"cut", "-b= -c= -d= -f= -n -s -z --bytes= --characters= --complement --delimiter= --fields= --only-delimited --output-delimiter=", anything, ""},
	{"tr", "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1", anything, ""},
	{"comm, join, paste, column, fold, expand, unexpand, rev, tac", "-# -a= -d= -i -j= -o= -s -t -u -v= -w= -z", anything, ""},
	{"nl", "-b= -f= -h= -i= -l= -n= -s= -v= -w=", anything, ""},
	{"sed", "-n -E -r --quiet --silent", matched, `(?:\d+|\$)(?:,(?:\d+|\$|\+\d+))?p(?s:\x00.*)?`}, // only lines by their number
	{"jq", "-c -C -e -j -M -n -r -s -S --arg= --compact-output --exit-status --join-output --monochrome-output --null-input --raw-output --slurp --sort-keys --tab", anything, ""},
	{"base64", "-d -D -i -w= --decode --ignore-garbage --wrap=", anything, ""},
	{"seq", "-f= -s= -w --equal-width --format= --separator=", anything, ""},
	{"echo", "-e -E -n", globs, ""},

	// the machine
	{"pwd", "-L -P", nothing, ""},
	{"true, false", "", anything, ""},
	{"date", "-u -R -I? --utc --universal --rfc-email --iso-8601? --rfc-3339=", matched, `(?:\+[^\x00]*)?`},
	{"whoami, arch, nproc, tty, logname, uptime, groups, hostname, locale, lscpu", "-a -p -s --all --version", nothing, ""},
	{"id", "-a -g -G -n -r -u --group --groups --name --real --user", anything, ""},
	{"uname", "-a -i -m -n -o -p -r -s -v --all --kernel-name --kernel-release --kernel-version --machine --nodename --operating-system", nothing, ""},
	{"env", "-0 --null", nothing, ""},
	{"printenv", "-0 --null", anything, ""},
	{"which, type", "-a -p -t", anything, ""},
	{"command", "-v= -V=", nothing, ""},
	{"ps", "-a -A -d -e -f -F -g= -G= -H -j -l -L -o= -p= -r -t= -T -u= -U= -w -x -y --forest --headers --no-headers --pid= --ppid= --sort= --user=", matched, "[auxwfel]*"},
	{"pgrep", "-a -c -d= -f -g= -G= -i -l -n -o -P= -t= -u= -U= -v -x --count --euid= --exact --full --list-full --list-name --newest --oldest --parent= --uid=", anything, ""},
	{"free", "-b -k -m -g -h -l -t -w --human --total --wide", nothing, ""},
	{"who, w, last", "-# -a -b -d -f -H -i -n= -q -r -s -u -w", nothing, ""},
	{"lsblk", "-a -b -d -f -i -J -l -m -n -o= -p -P -r -S -t --all --fs --json --list --noheadings --nodeps --output= --paths", anything, ""},
	{"mount", "-l -v", nothing, ""},
	{"ss, netstat", "-4 -6 -a -e -i -l -m -n -o -p -r -s -t -u -w -x", nothing, ""},
	{"lsof", "-a -b -c= -d= -F= -i -l -n -p= -P -t -u= -U -w", anything, ""},
	{"systemctl", "", group, ""},
	{"systemctl status, systemctl show, systemctl cat, systemctl is-active, systemctl is-enabled, systemctl is-failed, systemctl list-units, systemctl list-unit-files, systemctl list-timers, systemctl list-dependencies", "-a -l -n= -o= -p= -q -t= --all --failed --full --lines= --no-legend --no-pager --output= --property= --quiet --state= --type= --user --value", anything, ""},
	{"journalctl", "-a -b -e -k -n= -o= -p= -q -r -S= -t= -u= -U= -x --boot? --catalog --dmesg --grep= --identifier= --lines= --list-boots --no-hostname --no-pager --output= --priority= --quiet --reverse --since= --unit= --until= --user --utc", nothing, ""},

	// the web
	{"curl", "-0 -1 -2 -3 -4 -6 -f -i -I -L -m= -s -S -v --compressed --connect-timeout= --fail --fail-with-body --globoff -g --head --http1.1 --http2 --include --ipv4 --ipv6 --location --max-filesize= --max-redirs= --max-time= --no-progress-meter --retry= --show-error --silent --verbose", urls, ""},

	// git
	{"git", "-C= --no-pager --literal-pathspecs --no-optional-locks --no-replace-objects", group, ""},
	{"git status", "-b -s -u? -v -z --ahead-behind --branch --ignored? --long --no-renames --porcelain? --short --show-stash --untracked-files? --verbose", anything, ""},
	{"git log, git show, git whatchanged", gitCommits + gitPatch, anything, ""},
	{"git diff", gitPatch + " --cached --staged --merge-base --no-index", anything, ""},
	{"git diff-tree, git diff-files, git diff-index", gitPatch + " -r -t --cached --root --no-commit-id", anything, ""},
	{"git shortlog", "-c -e -n -s --email --numbered --summary --since= --until= --author= --no-merges --all", anything, ""},
	{"git blame, git annotate", "-C -e -f -l -L= -M -n -p -s -t -w --date= --line-porcelain --porcelain --root --show-email --show-name --show-number", anything, ""},
	{"git grep", "-# -a -A= -B= -c -C= -e= -E -f= -F -G -h -H -i -I -l -L -n -o -p -P -q -v -w -W -z --and --or --not --cached --untracked --count --heading --break --files-with-matches --fixed-strings --ignore-case --invert-match --line-number --max-depth= --name-only --only-matching --word-regexp", anything, ""},
	{"git branch", "-a -r -v -vv --all --color? --contains= --format= --ignore-case --list --merged --no-color --no-contains= --no-merged --points-at= --remotes --show-current --sort= --verbose", nothing, ""},
	{"git tag", "-l -n --column? --contains= --format= --ignore-case --list --merged --no-contains= --no-merged --points-at= --sort=", nothing, ""},
	{"git remote", "-v --verbose", nothing, ""},
	{"git remote get-url", "--all --push", anything, ""},
	{"git stash, git worktree, git submodule, git notes, git bisect", "", group, ""},
	{"git stash list", gitCommits, nothing, ""},
	{"git stash show", gitPatch, anything, ""},
	{"git worktree list", "-v -z --porcelain --verbose", nothing, ""},
	{"git submodule status", "--cached --recursive", anything, ""},
	{"git notes list, git notes show", "", anything, ""},
	{"git bisect log", "", nothing, ""},
	{"git reflog", "-# -n= --all --date= --format? --pretty? --oneline", nothing, ""},
	{"git config", "-l --list --get= --get-all= --get-regexp= --global --local --name-only --show-origin --show-scope --system --type= -z", nothing, ""},
	{"git rev-parse", "--abbrev-ref? --absolute-git-dir --all --git-common-dir --git-dir --is-bare-repository --is-inside-git-dir --is-inside-work-tree --is-shallow-repository -q --quiet --short? --show-cdup --show-prefix --show-toplevel --symbolic --symbolic-full-name --verify", anything, ""},
	{"git rev-list", gitCommits + " --count --objects --left-right --parents --children", anything, ""},
	{"git merge-base", "-a --all --is-ancestor --octopus --independent --fork-point", anything, ""},
	{"git describe, git name-rev", "--abbrev= --all --always --contains --dirty? --exact-match --first-parent --long --match= --name-only --tags", anything, ""},
	{"git ls-files", "-c -d -f -i -k -m -o -s -t -u -v -z --abbrev? --cached --deduplicate --deleted --eol --error-unmatch --exclude= --exclude-standard --full-name --ignored --killed --modified --others --recurse-submodules --stage --unmerged", anything, ""},
	{"git ls-tree", "-d -l -r -t -z --abbrev? --format= --full-name --full-tree --long --name-only --name-status --object-only", anything, ""},
	{"git cat-file", "-e -p -s -t", anything, ""},
	{"git show-ref, git for-each-ref, git count-objects, git check-ignore, git check-attr, git var, git cherry, git version", "-d -H -q -v -a -z --abbrev? --all --branches --contains= --count= --dereference --format= --hash? --heads --human-readable --merged? --no-merged? --points-at= --sort= --tags --verbose --verify", anything, ""},

	// services
	{"kubectl", "-n= --namespace= --context= --cluster= --request-timeout=", group, ""},
	{"kubectl get", kubeAll + kubeOut, anything, ""},
	{"kubectl describe", kubeAll + " --show-events? --chunk-size=", anything, ""},
	{"kubectl logs", kubeAll + " -c= --all-containers? --container= --limit-bytes= -p --previous? --prefix? --since= --since-time= --tail= --timestamps?", anything, ""},
	{"kubectl top", "", group, ""},
	{"kubectl top node, kubectl top nodes, kubectl top pod, kubectl top pods", kubeAll + " --containers --no-headers --sort-by=", anything, ""},
	{"kubectl explain, kubectl api-resources, kubectl api-versions, kubectl version", kubeAll + " -o= --output= --api-group= --api-version= --client --namespaced? --no-headers --recursive --short --verbs=", anything, ""},
	{"kubectl cluster-info", "--context=", nothing, ""},
	{"kubectl config, kubectl auth, kubectl rollout", "", group, ""},
	{"kubectl config current-context, kubectl config get-contexts, kubectl config get-clusters, kubectl config view", "--context= --minify -o= --output=", anything, ""},
	{"kubectl auth can-i, kubectl auth whoami", kubeAll + " --list -q --quiet -o= --output=", anything, ""},
	{"kubectl rollout status, kubectl rollout history", kubeAll + " --revision= --timeout= --watch?", anything, ""},
	{"docker, docker container, docker image, docker network, docker volume, docker compose, docker system", "", group, ""},
	{"docker ps, docker container ls, docker container list", list, nothing, ""},
	{"docker images, docker image ls, docker image list", list + " --digests --tree", anything, ""},
	{"docker network ls, docker volume ls", list, nothing, ""},
	{"docker inspect, docker container inspect, docker image inspect, docker network inspect, docker volume inspect", "-f= --format= -s --size --type=", anything, ""},
	{"docker logs, docker container logs", "-n= -t --details --since= --tail= --timestamps --until=", anything, ""},
	{"docker top, docker port, docker diff, docker container top, docker container port, docker container diff", "", anything, ""},
	{"docker history, docker image history", "-H -q --format= --human --no-trunc --quiet", anything, ""},
	{"docker version, docker info, docker system info, docker system df", "-f= --format= -v --verbose", nothing, ""},
	{"docker compose ps, docker compose ls, docker compose images, docker compose top", "-a -q --all --format= --quiet --services --status=", anything, ""},
	{"docker compose logs", "-n= -t --no-color --no-log-prefix --since= --tail= --timestamps --until=", anything, ""},
	{"gh, gh issue, gh pr, gh repo, gh run, gh release, gh workflow, gh label", "", group, ""},
	{"gh issue list, gh issue status, gh issue view, gh pr checks, gh pr diff, gh pr list, gh pr status, gh pr view, gh repo list, gh repo view, gh run list, gh release list, gh release view, gh workflow list, gh label list", ghPage, anything, ""},
	{"npm", "", group, ""},
	{"npm ls, npm list, npm view, npm outdated", "-a -g -l --all --depth= --global --json --long --omit=", anything, ""},
	{"pip, pip3", "", group, ""},
	{"pip list, pip show, pip freeze, pip3 list, pip3 show, pip3 freeze", "-f -l -o -v --files --format= --local --not-required --outdated --user --verbose", anything, ""},
}
