package paging

import (
	_ "embed" // the page is part of the program
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Page is an alert as it arrived in a message.
type Page struct {
	// Arrived is when the message did.
	Arrived time.Time
	// Alert is its name.
	Alert    string
	Resolved bool
	// Text is what whoever is paged reads, and Link leads from there to kubeflap's page.
	Text, Link string
}

// Receiver is what Alertmanager pages: it keeps every message, and shows them to a person.
type Receiver struct {
	URL string

	server *http.Server
	mu     sync.Mutex
	pages  []Page
}

func startReceiver() (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for messages: %w", err)
	}
	r := &Receiver{URL: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", r.receive)
	mux.HandleFunc("GET /", r.show)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }() // ends when it is stopped
	return r, nil
}

// message is a webhook's or a chat's.
type message struct {
	Alerts      []alert
	Attachments []struct{ Text string }
}

// alert is one of a webhook's, or as Alertmanager's API tells it.
type alert struct {
	Labels, Annotations map[string]string
	Status              any
}

func (a alert) page() Page {
	return Page{
		Alert: a.Labels["alertname"], Resolved: a.Status == "resolved",
		Text: a.Annotations["summary"] + " " + a.Annotations["description"], Link: a.Annotations["page_url"],
	}
}

var (
	// chatAlert begins the part of a chat's message that is about one alert, by the shipped template.
	chatAlert = regexp.MustCompile(`(?m)^(Kubeflap\w+) \(\w+(, resolved)?\) since `)
	chatLink  = regexp.MustCompile(`(?m)^Incidents: (\S+)$`)
)

// chatPages are the alerts in the text of a chat's message.
func chatPages(text string) []Page {
	var pages []Page
	parts := chatAlert.FindAllStringSubmatchIndex(text, -1)
	for i, part := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		page := Page{Alert: text[part[2]:part[3]], Resolved: part[4] >= 0, Text: strings.TrimSpace(text[part[0]:end])}
		if link := chatLink.FindStringSubmatch(page.Text); link != nil {
			page.Link = link[1]
		}
		pages = append(pages, page)
	}
	return pages
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	arrived := time.Now()
	var m message
	if err := json.NewDecoder(request.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var pages []Page
	for _, a := range m.Alerts {
		pages = append(pages, a.page())
	}
	for _, attachment := range m.Attachments {
		pages = append(pages, chatPages(attachment.Text)...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, page := range pages {
		page.Arrived = arrived
		r.pages = append(r.pages, page)
	}
	fmt.Fprint(w, "ok") // as a chat answers
}

//go:embed receiver.html
var shown string

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
