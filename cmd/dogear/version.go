package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is that of a release, set by the linker: -X main.version=v1.2.3.
var version string

// build tells what this program was built from.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  dogear version
  dogear version -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := readBuild()
			switch output {
			case "json":
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			case "text":
				_, err := fmt.Fprintln(cmd.OutOrStdout(), b)
				return err
			}
			return wrongUsage("--output is %q: want text or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

func (b build) String() string {
	text := "dogear " + b.Version
	if b.Commit != "" {
		text += " " + b.Commit
	}
	if b.Modified {
		text += " (modified)"
	}
	return text + " " + b.Go + " " + b.Platform
}

func readBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value[:min(12, len(setting.Value))]
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}
