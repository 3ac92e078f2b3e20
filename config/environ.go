package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	variablePrefix = "DOGEAR_"
	// fileVariable names the file with settings.
	fileVariable = variablePrefix + "CONFIG"
)

// otherVariables are those of the demo, the tests and the examples, which may
// be set in somebody's shell.
var otherVariables = regexp.MustCompile(`^DOGEAR_(ASSETS|KEEP|CA|DEMO_.*)$`)

// variablesOf picks the variables of Dogear.
func variablesOf(environ []string) map[string]string {
	found := map[string]string{}
	for _, variable := range environ {
		if name, text, _ := strings.Cut(variable, "="); strings.HasPrefix(name, variablePrefix) {
			found[name] = text
		}
	}
	return found
}

// unknownVariables are errors: they are misspelt.
func unknownVariables(variables map[string]string, entries []entry) (errs []error) {
	var paths []string
	known := map[string]bool{fileVariable: true}
	for _, e := range entries {
		paths = append(paths, e.path)
		known[VariableName(e.path)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !known[name] && !otherVariables.MatchString(name) && !ofService(name, variables) {
			errs = append(errs, fmt.Errorf("unknown variable %s%s", name, hint(name, paths, VariableName)))
		}
	}
	return errs
}

var serviceVariable = regexp.MustCompile(`^(SERVICE_PORT|SERVICE_PORT_.+|PORT|PORT_\d+_(TCP|UDP|SCTP)(|_PROTO|_PORT|_ADDR))$`)

// ofService tells whether Kubernetes has set a variable in a Pod, for a Service
// whose name begins with dogear. It sets DOGEAR_SERVICE_HOST along with the
// others.
func ofService(name string, variables map[string]string) bool {
	for host := range variables {
		service, ok := strings.CutSuffix(host, "_SERVICE_HOST")
		if !ok {
			continue
		}
		if rest, ok := strings.CutPrefix(name, service+"_"); name == host || ok && serviceVariable.MatchString(rest) {
			return true
		}
	}
	return false
}
