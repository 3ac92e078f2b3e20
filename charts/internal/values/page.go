package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// tables tells all values, a table for each section.
func tables(root *value) string {
	var page strings.Builder
	for i, part := range root.parts {
		if i == 0 || part.section != "" {
			if part.section != "" {
				fmt.Fprintf(&page, "\n### %s\n", part.section)
			}
			page.WriteString("\n| value | default | |\n| --- | --- | --- |\n")
		}
		part.rows(&page)
	}
	return strings.TrimSpace(page.String())
}

func (v *value) rows(page *strings.Builder) {
	if !v.mapping {
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", v.path, cell(printed(v.initial)), cell(strings.TrimSpace(v.text+" "+v.limits())))
		return
	}
	if v.text != "" {
		fmt.Fprintf(page, "| `%s` | | %s |\n", v.path, cell(v.text))
	}
	for _, part := range v.parts {
		part.rows(page)
	}
}

// printed is a default as one may write it.
func printed(initial any) string {
	if initial == "" {
		return ""
	}
	if text, ok := initial.(string); ok {
		return "`" + text + "`"
	}
	encoded, err := json.Marshal(initial)
	if err != nil {
		return fmt.Sprint(initial) // YAML has made it: it does not happen
	}
	return "`" + string(encoded) + "`"
}

// limits tells what a reader wants to know of the schema.
func (v *value) limits() string {
	if enum, ok := v.shape["enum"].([]any); ok {
		var words []string
		for _, word := range enum {
			if word != "" {
				words = append(words, fmt.Sprintf("`%v`", word))
			}
		}
		return "One of " + strings.Join(words, ", ") + "."
	}
	least, most := v.shape["minimum"], v.shape["maximum"]
	switch {
	case least != nil && most != nil && v.shape["pattern"] == nil && v.shape["type"] == "integer":
		return fmt.Sprintf("%v to %v.", least, most)
	case most == nil && v.shape["type"] == "integer" && least != nil:
		return fmt.Sprintf("At least %v.", least)
	}
	return ""
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
