package paging

import (
	_ "embed" // the page is part of the program
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Page is an alert as it arrived in a message.
type Page struct {
	// Arrived is when the message did.
	Arrived     time.Time         `json:"-"`
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
}

// Alert is its name.
func (p Page) Alert() string { return p.Labels["alertname"] }

// Receiver is what Alertmanager pages: it keeps every message, and shows them to a person.
type Receiver struct {
	URL string

	server *http.Server
	mu     sync.Mutex
	pages  []Page
}

//go:embed receiver.html
var shown string

func startReceiver() (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for messages: %w", err)
	}
	r := &Receiver{URL: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", r.receive)
	mux.HandleFunc("GET /", r.show)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = r.server.Serve(listener) }() // ends when it is stopped
	return r, nil
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	arrived := time.Now()
	var message struct{ Alerts []Page }
	if err := json.NewDecoder(request.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, page := range message.Alerts {
		page.Arrived = arrived
		r.pages = append(r.pages, page)
	}
}

// show lists what arrived, the newest first.
func (r *Receiver) show(w http.ResponseWriter, _ *http.Request) {
	pages := r.Pages()
	slices.Reverse(pages)
	if err := template.Must(template.New("").Parse(shown)).Execute(w, pages); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Pages are all alerts of all messages, in the order of their arrival.
func (r *Receiver) Pages() []Page {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.pages)
}

func (r *Receiver) stop() { _ = r.server.Close() } // whoever still sends is gone already
