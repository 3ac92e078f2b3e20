package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// value is where a setting is kept. It is set by texts: one, or for lists any
// number of them.
type value interface {
	set(texts []string) error
	texts() []string
	kind() string // for the help of flags
}

type (
	textValue   struct{ p *string }
	numberValue struct{ p *int }
	boolValue   struct{ p *bool }
	spanValue   struct{ p *time.Duration }
	listValue   struct{ p *[]string }
)

func text(p *string) value        { return textValue{p} }
func number(p *int) value         { return numberValue{p} }
func yes(p *bool) value           { return boolValue{p} }
func span(p *time.Duration) value { return spanValue{p} }
func list(p *[]string) value      { return listValue{p} }

func (v textValue) set(texts []string) error {
	return one(texts, func(text string) error { *v.p = text; return nil })
}
func (v textValue) texts() []string { return []string{*v.p} }
func (v textValue) kind() string    { return "string" }

func (v numberValue) set(texts []string) error {
	return one(texts, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q: want a whole number", text)
		}
		*v.p = n
		return nil
	})
}
func (v numberValue) texts() []string { return []string{strconv.Itoa(*v.p)} }
func (v numberValue) kind() string    { return "int" }

func (v boolValue) set(texts []string) error {
	return one(texts, func(text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("%q: want true or false", text)
		}
		*v.p = text == "true"
		return nil
	})
}
func (v boolValue) texts() []string { return []string{strconv.FormatBool(*v.p)} }
func (v boolValue) kind() string    { return "bool" }

func (v spanValue) set(texts []string) error {
	return one(texts, func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q: want a duration such as 300ms, 10s or 1h30m", text)
		}
		*v.p = d
		return nil
	})
}
func (v spanValue) texts() []string { return []string{v.p.String()} }
func (v spanValue) kind() string    { return "duration" }

func (v listValue) set(texts []string) error {
	*v.p = append([]string(nil), texts...)
	return nil
}
func (v listValue) texts() []string { return *v.p }
func (v listValue) kind() string    { return "strings" }

func one(texts []string, set func(string) error) error {
	if len(texts) != 1 {
		return fmt.Errorf("want one value, not %d", len(texts))
	}
	return set(texts[0])
}

func isList(v value) bool {
	_, ok := v.(listValue)
	return ok
}

// split reads the text of a flag or variable: a list has commas.
func split(v value, text string) []string {
	if !isList(v) {
		return []string{text}
	}
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
