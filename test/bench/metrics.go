package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What is read from the holder's metrics.
const (
	requestsTotal = "rest_client_requests_total"
	cpuSeconds    = "process_cpu_seconds_total"
	residentBytes = "process_resident_memory_bytes"
	liveBytes     = "go_gc_heap_live_bytes"
)

// samples are the samples of one scrape: value by name and labels, as they stand in the text format.
type samples map[string]float64

// readMetrics scrapes url/metrics.
func readMetrics(ctx context.Context, url string) (samples, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read metrics: %s", resp.Status)
	}
	return parseMetrics(resp.Body)
}

// parseMetrics reads the text format, without timestamps.
func parseMetrics(in io.Reader) (samples, error) {
	all := samples{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if line == "" || line[0] == '#' || space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read metrics: %q: %w", line, err)
		}
		all[line[:space]] = value
	}
	return all, lines.Err()
}

// sum adds up every sample of the metric, whatever its labels; 0 when there is none.
func (s samples) sum(metric string) float64 {
	total := 0.0
	for series, value := range s {
		if name, _, _ := strings.Cut(series, "{"); name == metric {
			total += value
		}
	}
	return total
}
