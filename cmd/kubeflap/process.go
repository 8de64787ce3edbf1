package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/procfs"
)

// process has the metrics of collectors.NewProcessCollector, but for the bytes on the network, which are those of the whole pod: to
// tell these too, the library reads six files, some of them long, and that takes longer than the series of a small cluster.
//
// It keeps no procfs.Proc: what a struct holds stays in the binary with all its methods, here half a megabyte of them.
type process struct {
	// What changes.
	cpu, memory, virtual, files *prometheus.Desc
	// fixed are those that do not.
	fixed []prometheus.Metric
}

// newProcess leaves it to the library where there is no /proc.
func newProcess() prometheus.Collector {
	p := &process{
		cpu:     prometheus.NewDesc("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", nil, nil),
		memory:  prometheus.NewDesc("process_resident_memory_bytes", "Resident memory size in bytes.", nil, nil),
		virtual: prometheus.NewDesc("process_virtual_memory_bytes", "Virtual memory size in bytes.", nil, nil),
		files:   prometheus.NewDesc("process_open_fds", "Number of open file descriptors.", nil, nil),
	}
	if err := p.readFixed(); err != nil {
		return collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	}
	return p
}

func (p *process) readFixed() error {
	self, err := procfs.Self()
	if err != nil {
		return fmt.Errorf("find the process: %w", err)
	}
	stat, err := self.Stat()
	if err != nil {
		return fmt.Errorf("read the process's figures: %w", err)
	}
	start, err := stat.StartTime()
	if err != nil {
		return fmt.Errorf("read when the system started: %w", err)
	}
	limits, err := self.Limits()
	if err != nil {
		return fmt.Errorf("read the process's limits: %w", err)
	}
	p.fix("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", start)
	p.fix("process_max_fds", "Maximum number of open file descriptors.", float64(limits.OpenFiles))
	p.fix("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", float64(limits.AddressSpace))
	return nil
}

func (p *process) fix(name, help string, value float64) {
	p.fixed = append(p.fixed, prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value))
}

// Describe implements prometheus.Collector.
func (p *process) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, ch) }

// Collect implements prometheus.Collector. What cannot be read is left out, as by the library.
func (p *process) Collect(ch chan<- prometheus.Metric) {
	for _, m := range p.fixed {
		ch <- m
	}
	self, err := procfs.Self()
	if err != nil {
		return
	}
	if stat, err := self.Stat(); err == nil {
		ch <- prometheus.MustNewConstMetric(p.cpu, prometheus.CounterValue, stat.CPUTime())
		ch <- prometheus.MustNewConstMetric(p.memory, prometheus.GaugeValue, float64(stat.ResidentMemory()))
		ch <- prometheus.MustNewConstMetric(p.virtual, prometheus.GaugeValue, float64(stat.VirtualMemory()))
	}
	if files, err := self.FileDescriptorsLen(); err == nil {
		ch <- prometheus.MustNewConstMetric(p.files, prometheus.GaugeValue, float64(files))
	}
}
