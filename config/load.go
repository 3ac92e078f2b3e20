package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// Loader reads the settings of a process.
type Loader struct {
	file  string
	flags map[string]*flag
}

// Loaded are the settings of a process, and where each was set.
type Loaded struct {
	Settings
	sources map[string]string
}

// Register adds --config and a flag for each setting to flags. Load after they
// were parsed.
func Register(flags *pflag.FlagSet) *Loader {
	l := &Loader{flags: map[string]*flag{}}
	flags.StringVar(&l.file, "config", "", "YAML file with settings; $DOGEAR_CONFIG")
	scratch := Default()
	for _, e := range scratch.entries() {
		f := &flag{value: e.value, initial: strings.Join(e.value.texts(), ",")}
		l.flags[e.path] = f
		added := flags.VarPF(f, FlagName(e.path), "", e.usage)
		if e.value.kind() == "bool" {
			added.NoOptDefVal = "true"
		}
	}
	return l
}

// Load reads file, environment and flags, and validates what comes of it. An
// error names the setting and where it was set. environ is os.Environ().
func (l *Loader) Load(environ []string) (*Loaded, error) {
	s := &Loaded{Settings: Default(), sources: map[string]string{}}
	entries, variables := s.entries(), variablesOf(environ)
	if err := s.readFile(l.fileName(variables), entries); err != nil {
		return nil, err
	}
	errs := unknownVariables(variables, entries)
	for _, e := range entries {
		name := VariableName(e.path)
		if text, ok := variables[name]; ok {
			errs = append(errs, s.set(e, split(e.value, text), "variable "+name))
		}
		if f := l.flags[e.path]; f.changed {
			errs = append(errs, s.set(e, f.texts, "flag --"+FlagName(e.path)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, p := range s.problems() {
		errs = append(errs, fmt.Errorf("%s (%s): %s", p.path, s.Source(p.path), p.text))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.Roles = s.roles() // to be printed
	return s, nil
}

func (l *Loader) fileName(variables map[string]string) string {
	if l.file != "" {
		return l.file
	}
	return variables[fileVariable]
}

// Source tells where the setting of this path was set: "default", "file
// <name>", "variable DOGEAR_…" or "flag --…".
func (s *Loaded) Source(path string) string {
	if source := s.sources[path]; source != "" {
		return source
	}
	return "default"
}

func (s *Loaded) set(e entry, texts []string, source string) error {
	if err := e.value.set(texts); err != nil {
		return fmt.Errorf("%s (%s): %w", e.path, source, err)
	}
	s.sources[e.path] = source
	return nil
}

func (s *Loaded) readFile(name string, entries []entry) error {
	if name == "" {
		return nil
	}
	content, err := os.ReadFile(name) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	found, err := parseFile(content, entries)
	if err != nil {
		return fmt.Errorf("settings in %q: %w", name, err)
	}
	var errs []error
	for _, e := range entries {
		if texts, ok := found[e.path]; ok {
			errs = append(errs, s.set(e, texts, fmt.Sprintf("file %q", name)))
		}
	}
	return errors.Join(errs...)
}

// flag is a setting on the command line. A list may be given several times.
type flag struct {
	value   value // of no use but to check and print
	initial string
	texts   []string
	changed bool
}

func (f *flag) Set(text string) error {
	texts := split(f.value, text)
	if err := f.value.set(texts); err != nil {
		return err
	}
	if isList(f.value) {
		texts = append(f.texts, texts...)
	}
	f.texts, f.changed = texts, true
	return nil
}

func (f *flag) String() string {
	if f.changed {
		return strings.Join(f.texts, ",")
	}
	return f.initial
}

func (f *flag) Type() string { return f.value.kind() }
