package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// wantOutput checks --output.
func wantOutput(have string, known ...string) error {
	if !slices.Contains(known, have) {
		return wrongUsage("--output is %q: want %s", have, strings.Join(known, " or "))
	}
	return nil
}

func completeOutput(cmd *cobra.Command, known ...string) {
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// printResult prints what came of a command, as JSON or as its text.
func printResult(cmd *cobra.Command, output string, result interface{ WriteText(io.Writer) error }) (err error) {
	if output == "json" {
		err = encodeJSON(cmd.OutOrStdout(), result)
	} else {
		err = result.WriteText(cmd.OutOrStdout())
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

func encodeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printObjects prints objects so that kubectl can apply them.
func printObjects(out io.Writer, output string, objects []runtime.Object) error {
	var text strings.Builder
	if output == "json" {
		if len(objects) == 1 {
			return encodeJSON(out, objects[0])
		}
		return encodeJSON(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, o := range objects {
		document, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("print the objects: %w", err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(document)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
