#!/bin/sh
# Builds the pinned programs of this module into bin/ at the root of the
# repository, each only when its pins or the Go version have changed.
#
#	build.sh [-n] [name ...]
#
# Names: etcd kube-apiserver kube-controller-manager kubectl crds monitoring-crds
# helm. Without one: all but helm. "crds" copies cert-manager's CRDs out of its Go
# module, "monitoring-crds" those of the Prometheus operator.
# -n builds nothing and exits 1 when something is missing or out of date.
#
# What KUBEBUILDER_ASSETS holds is not built. Two runs at once are safe: the
# second waits. A program appears in bin/ whole or not at all.
set -eu
cd "$(dirname "$0")"
here=$(pwd) root=$(cd ../.. && pwd) bin=$(cd ../.. && pwd)/bin

check=no
if [ "${1:-}" = -n ]; then check=yes; shift; fi
[ $# -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kubectl crds monitoring-crds

# version prints the version of a module as go.mod pins it.
version() { sed -n "s|^[[:space:]]*$1 \(v[^ ]*\).*|\1|p" go.mod; }

kubernetes=$(version k8s.io/kubernetes) minor=${kubernetes#v1.} v=k8s.io/component-base/version
flags="-s -w -X $v.gitVersion=$kubernetes -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*} -X $v.gitTreeState=clean"
flags="$flags -X helm.sh/helm/v4/internal/version.version=$(version helm.sh/helm/v4)"
pins=$(cat go.mod go.sum | git hash-object --stdin)
pins="$pins $(go env GOVERSION GOOS GOARCH | tr '\n' ' ')$flags"
certmanager=$(sed -n 's|.*\(github.com/cert-manager/cert-manager v[^ ]*\).*|\1|p' "$root/go.mod")
# The Prometheus operator is in no go.mod: of its module only files are needed.
prometheus=github.com/prometheus-operator/prometheus-operator@v0.85.0
prometheussum=h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=

package() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	kube-apiserver | kube-controller-manager | kubectl) echo "k8s.io/kubernetes/cmd/$1" ;;
	helm) echo helm.sh/helm/v4/cmd/helm ;;
	crds) echo "$certmanager" ;;
	monitoring-crds) echo "$prometheus" ;;
	*) echo "build.sh: no program is called \"$1\"" >&2; exit 2 ;;
	esac
}

want() {
	case $1 in
	crds) package crds ;;
	monitoring-crds) echo "$prometheus, 3 files" ;; # a bin/ of before has 2
	*) echo "$pins" ;;
	esac
}

fresh() {
	if [ -f "${KUBEBUILDER_ASSETS:-/nowhere}/$1" ] && [ -x "${KUBEBUILDER_ASSETS:-/nowhere}/$1" ]; then return 0; fi
	[ -e "$bin/$1" ] && [ "$(cat "$bin/.stamp/$1" 2>/dev/null)" = "$(want "$1")" ]
}

stale() { for n; do package "$n" >/dev/null; fresh "$n" || printf '%s ' "$n"; done; }

took() { s=$(($(date +%s) - $1)); printf '%d:%02d' $((s / 60)) $((s % 60)); }

# lock waits for another run: the link's target is the process that holds it.
lock() {
	said=no
	until ln -s $$ "$bin/.lock" 2>/dev/null; do
		holder=$(readlink "$bin/.lock" 2>/dev/null) || continue
		if ! kill -0 "$holder" 2>/dev/null; then rm -f "$bin/.lock"; continue; fi
		[ $said = yes ] || echo "controlplane: waiting for the build of process $holder (remove bin/.lock if it is none)"
		said=yes
		sleep 1
	done
}

# compile builds a program and says every 20 s how far it is.
compile() {
	CGO_ENABLED=0 go build -v -trimpath -buildvcs=false -ldflags "$flags" -o "$tmp/$1" "$(package "$1")" 2>"$tmp/log" &
	job=$! start=$(date +%s) beat=0
	while kill -0 $job 2>/dev/null; do
		sleep 1
		beat=$((beat + 1))
		[ $((beat % 20)) -ne 0 ] || echo "       $1: $(took "$start"), $(wc -l <"$tmp/log") packages compiled; linking comes last"
	done
	wait $job || { tail -30 "$tmp/log" >&2; return 1; } # -v names packages there, and errors come last
	job=
}

copycrds() {
	cd "$root"
	go mod download github.com/cert-manager/cert-manager
	dir=$(go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)
	cd "$here"
	mkdir -p "$tmp/crds/cert-manager"
	cp "$dir"/deploy/crds/*.yaml "$tmp/crds/cert-manager/"
	chmod -R u+w "$tmp/crds"
	rm -rf "$bin/crds"
}

copymonitoringcrds() {
	info=$(cd / && go mod download -json "$prometheus")
	dir=$(echo "$info" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",$/\1/p')
	sum=$(echo "$info" | sed -n 's/^[[:space:]]*"Sum": "\(.*\)",$/\1/p')
	[ "$sum" = "$prometheussum" ] || { echo "controlplane: $prometheus has the sum $sum: want $prometheussum" >&2; return 1; }
	mkdir -p "$tmp/monitoring-crds"
	for kind in servicemonitors podmonitors prometheusrules; do
		cp "$dir/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" "$tmp/monitoring-crds/"
	done
	chmod -R u+w "$tmp/monitoring-crds"
	rm -rf "$bin/monitoring-crds"
}

todo=$(stale "$@")
[ -n "$todo" ] || { echo "controlplane: up to date ($*)"; exit 0; }
[ $check = no ] || { echo "controlplane: out of date: $todo- run 'make controlplane'" >&2; exit 1; }

mkdir -p "$bin/.stamp"
lock
tmp=$(mktemp -d "$bin/.build.XXXXXX") job=
trap 'rm -rf "$tmp" "$bin/.lock"' EXIT
trap '[ -z "$job" ] || kill $job 2>/dev/null; exit 130' INT TERM HUP

todo=$(stale "$@") # another run may have built them while this one waited
set -- $todo
[ $# -gt 0 ] || { echo "controlplane: up to date"; exit 0; }
echo "controlplane: building $* into bin/; from nothing about 10 minutes on 2 cores, later from Go's cache"
i=0 all=$(date +%s)
for name; do
	i=$((i + 1)) begin=$(date +%s)
	echo "[$i/$#] $name: $(package "$name")"
	case $name in
	crds) copycrds ;;
	monitoring-crds) copymonitoringcrds ;;
	*) compile "$name" ;;
	esac
	rm -f "$bin/.stamp/$name"
	mv "$tmp/$name" "$bin/$name"
	want "$name" >"$bin/.stamp/$name"
	echo "[$i/$#] $name: done in $(took "$begin")"
done
echo "controlplane: ready in $(took "$all")"
