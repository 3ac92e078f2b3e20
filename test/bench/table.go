package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// writeTable prints the results for people: a line for each contender.
func writeTable(w io.Writer, d *Document) error {
	fmt.Fprintf(w, "\nDogear %s, Kubernetes %s, etcd %s, controller-runtime %s, %s\n",
		d.Versions.Dogear, d.Versions.Kubernetes, d.Versions.Etcd, d.Versions.ControllerRuntime, d.Versions.Go)
	fmt.Fprintf(w, "%s, %d CPUs (%s), %d MiB, load average %.1f before, %.1f at the end\n",
		d.Machine.OS, d.Machine.CPUs, d.Machine.CPU, d.Machine.MemoryMiB, d.Machine.LoadBefore, d.Machine.LoadAfter)
	fmt.Fprintf(w, "Medians of %d rounds, in brackets the least and the most; %d workers\n\n", d.Settings.Rounds, d.Settings.Workers)
	if d.Settings.Quick {
		fmt.Fprint(w, "With -quick the figures mean nothing.\n\n")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tWHO\tOBJECTS\tRATE/S\tP50 MS\tP99 MS\tCPU MS\tRSS MIB\tWRITES\tSTATUS\tEVENTS\tREADY MS\tRUNS")
	printed := map[*Figures]bool{} // scenarios measured together share them
	for _, s := range d.Scenarios {
		who := subject.Dogear
		if s.References[theSDK] != nil {
			who = subject.HTTP
		}
		line(t, s.Name, who, &s.Figures)
		for _, name := range slices.Sorted(maps.Keys(s.References)) {
			if f := s.References[name]; !printed[f] {
				line(t, "", name, f)
				printed[f] = true
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t, "\nDOGEAR TO\tCEILING: RATE\tBARE: RATE\tCPU\tP50\tBARE+NOOP: RATE\tCPU\tP50\tNOOP: P50\tSDK: RATE\tCPU\tP50\tALONE: RATE\tCPU\tP50")
	for _, s := range d.Scenarios {
		fmt.Fprint(t, s.Name)
		for _, ratio := range []*float64{
			s.RatioToCeiling, s.RatioToBare, s.CPURatioToBare, s.LatencyRatioToBare,
			s.RatioToBareNoop, s.CPURatioToBareNoop, s.LatencyRatioToBareNoop, s.LatencyRatioToNoop,
			s.RatioToSDK, s.CPURatioToSDK, s.LatencyRatioToSDK, s.RatioToAlone, s.CPURatioToAlone, s.LatencyRatioToAlone,
		} {
			fmt.Fprint(t, "\t", number(ratio, 2))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func line(w io.Writer, scenario, who string, f *Figures) {
	p50, p99, main, status, events := "-", "-", "-", "-", "-"
	if l := f.LatencyMs; l != nil {
		p50, p99 = number(&l.P50, 2)+bounds(f.P50SpreadMs, 2), number(&l.P99, 2)
	}
	if n := f.WritesPerObject; n != nil {
		main, status, events = number(&n.Main, 2), number(&n.Status, 2), number(&n.Events, 2)
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", scenario, who, f.Objects,
		number(f.Rate, 0)+bounds(f.RateSpread, 0), p50, p99, number(f.CPUMsPerObject, 2)+bounds(f.CPUSpreadMs, 2),
		number(f.RSSMiB, 0), main, status, events, number(f.ReadyMs, 0), number(f.HandlerRuns, 0))
}

// number prints a figure, "-" for one that does not apply.
func number(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
}

func bounds(s *Spread, digits int) string {
	if s == nil {
		return ""
	}
	return " (" + number(&s.Min, digits) + "-" + number(&s.Max, digits) + ")"
}
