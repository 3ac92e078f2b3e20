package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
