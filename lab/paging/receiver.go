package paging

import (
	_ "embed" // embeds receiver.html
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

// Page is an alert that arrived in a message.
type Page struct {
	// Arrived is the time at which the message arrived.
	Arrived time.Time
	// Alert is the name of the alert.
	Alert    string
	Resolved bool
	// Text is the text for the person on call. Link is the URL of kubeflap's page.
	Text, Link string
}

// Receiver receives Alertmanager's messages. It keeps all messages, and shows them on a web page.
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
	go func() { _ = r.server.Serve(listener) }() // returns when the server is closed
	return r, nil
}

// message is a message to a webhook or a chat.
type message struct {
	Alerts      []alert
	Attachments []struct{ Text string }
}

// alert is an alert of a webhook message or of Alertmanager's API.
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
	// chatAlert matches the first line of each alert in a chat message from the shipped template.
	chatAlert = regexp.MustCompile(`(?m)^(Kubeflap\w+) \(\w+(, resolved)?\) since `)
	chatLink  = regexp.MustCompile(`(?m)^Incidents: (\S+)$`)
)

// chatPages returns the alerts in the text of a chat message.
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
	fmt.Fprint(w, "ok") // the response of a chat server
}

//go:embed receiver.html
var shown string

// show lists the received alerts, newest first.
func (r *Receiver) show(w http.ResponseWriter, _ *http.Request) {
	pages := r.Pages()
	slices.Reverse(pages)
	if err := template.Must(template.New("").Parse(shown)).Execute(w, pages); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Pages returns all alerts of all messages, in order of arrival.
func (r *Receiver) Pages() []Page {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.pages)
}

func (r *Receiver) stop() { _ = r.server.Close() } // Alertmanager has already stopped, so no message is lost.
