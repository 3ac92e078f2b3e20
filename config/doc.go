// Package config has the settings of a process of the service: what they are,
// where they are read from, and what they allow.
//
// A setting is read from, each going before those in front of it: its default,
// the file that --config names (YAML), the environment (DOGEAR_WEBHOOK_ADDRESS
// for webhook.address), the flags (--webhook-address). What is misspelt in any
// of them is an error.
package config
