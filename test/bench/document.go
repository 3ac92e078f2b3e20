package main

// Document is bench.json. Fields that do not apply to a scenario are null.
type Document struct {
	Time      string     `json:"time"` // of the start, RFC 3339
	Machine   Machine    `json:"machine"`
	Versions  Versions   `json:"versions"`
	Settings  Settings   `json:"settings"`
	Scenarios []Scenario `json:"scenarios"`
}

// Machine is where it was measured. All processes share it: etcd, the API
// server, the driver and what is measured.
type Machine struct {
	CPUs      int    `json:"cpus"`
	CPU       string `json:"cpu"`
	MemoryMiB int    `json:"memoryMiB"`
	OS        string `json:"os"`
	// Load is the load average of the last minute before the start and at the
	// end: what else the machine had to do, and what the benchmark added.
	LoadBefore float64 `json:"loadBefore"`
	LoadAfter  float64 `json:"loadAfter"`
}

// Versions of what was measured.
type Versions struct {
	Dogear            string `json:"dogear"`
	Go                string `json:"go"`
	Kubernetes        string `json:"kubernetes"`
	Etcd              string `json:"etcd"`
	ControllerRuntime string `json:"controllerRuntime"`
	CertManager       string `json:"certManager"`
}

// Settings of the run.
type Settings struct {
	Objects int  `json:"objects"`
	Rounds  int  `json:"rounds"`
	Workers int  `json:"workers"` // of Dogear and of the bare reconciler
	Quick   bool `json:"quick"`
}

// Scenario is what was measured of one scenario: the figures of Dogear (of
// "http-" scenarios: of the service), as
// medians over the rounds, and those of the references below them.
type Scenario struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Rounds int    `json:"rounds"`
	Figures
	// Ratios are medians of the ratios within each round.
	// Those without a name are of rates, those of latency of the p50.
	RatioToCeiling         *float64 `json:"ratioToCeiling"`
	RatioToBare            *float64 `json:"ratioToBare"`
	RatioToBareNoop        *float64 `json:"ratioToBareNoop"`
	CPURatioToBare         *float64 `json:"cpuRatioToBare"`
	CPURatioToBareNoop     *float64 `json:"cpuRatioToBareNoop"`
	LatencyRatioToBare     *float64 `json:"latencyRatioToBare"`
	LatencyRatioToBareNoop *float64 `json:"latencyRatioToBareNoop"`
	LatencyRatioToNoop     *float64 `json:"latencyRatioToNoop"`
	// To the operator of the SDK: of the service only, "http-".
	RatioToSDK        *float64 `json:"ratioToSDK"`
	CPURatioToSDK     *float64 `json:"cpuRatioToSDK"`
	LatencyRatioToSDK *float64 `json:"latencyRatioToSDK"`
	// To the service in "http-create" of the same round: of "http-dead-…" only.
	RatioToAlone        *float64 `json:"ratioToAlone"`
	CPURatioToAlone     *float64 `json:"cpuRatioToAlone"`
	LatencyRatioToAlone *float64 `json:"latencyRatioToAlone"`
	// References are the figures of what Dogear is compared with: "bare",
	// "bare-noop", "ceiling", "noop" and "none"; of the service also "sdk" and,
	// beside a dead endpoint, "alone".
	References map[string]*Figures `json:"references"`
}

// Figures are what was measured of one contender in one scenario.
type Figures struct {
	Objects int `json:"objects"` // in each round
	// Rate is in objects (admission: requests) a second.
	Rate            *float64 `json:"rate"`
	RateSpread      *Spread  `json:"rateSpread"`
	WritesPerObject *Writes  `json:"writesPerObject"`
	LatencyMs       *Latency `json:"latencyMs"`
	P50SpreadMs     *Spread  `json:"p50SpreadMs"`
	CPUMsPerObject  *float64 `json:"cpuMsPerObject"`
	CPUSpreadMs     *Spread  `json:"cpuSpreadMs"`
	RSSMiB          *float64 `json:"rssMiB"`
	// ReadyMs is the time from the start of the process until it had looked at
	// every object; HandlerRuns is how often a handler ran. Of a restart only.
	ReadyMs     *float64 `json:"readyMs"`
	HandlerRuns *float64 `json:"handlerRuns"`
}

// Spread is the least and the most over the rounds.
type Spread struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Writes are requests that change an object, as the API server counted them,
// whatever it answered; without those of the driver.
type Writes struct {
	Main   float64 `json:"main"`
	Status float64 `json:"status"`
	Events float64 `json:"events"`
}

// Latency in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}
