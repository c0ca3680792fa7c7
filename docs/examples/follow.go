// Prints the state of the suite app, then each of its changes. Run it with: go run follow.go
// The file "cursor" has the cursor of the last answer, from which the program continues after a restart.
// With the variable CLIENT, the program reports under this name which state it has applied. With access control,
// SETTINGS_TOKEN_FILE names a file with the token.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// The answer to a long poll: the state, or the changes after a cursor.
type news struct {
	Cursor  string
	Values  map[string]any
	Changes []struct {
		Key string
		New any
	}
}

func poll(client *http.Client, cursor string) (answer news, err error) {
	query := "?wait=30" // A request without a cursor waits for a suite that does not exist yet.
	if cursor != "" {
		query = "?since=" + url.QueryEscape(cursor)
		if name := os.Getenv("CLIENT"); name != "" {
			query += "&client=" + url.QueryEscape(name) + "&applied=" + url.QueryEscape(cursor)
		}
	}
	request, err := http.NewRequest("GET", "http://127.0.0.1:7070/v1/suites/app/observe"+query, nil)
	if err != nil {
		return answer, err
	}
	if file := os.Getenv("SETTINGS_TOKEN_FILE"); file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return answer, err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		log.Fatalf("status %d", response.StatusCode) // A repeated request would fail again.
	default:
		return answer, fmt.Errorf("status %d", response.StatusCode)
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	return answer, err
}

func save(cursor string) error {
	if err := os.WriteFile("cursor.new", []byte(cursor), 0o600); err != nil {
		return err
	}
	return os.Rename("cursor.new", "cursor")
}

func main() {
	client := &http.Client{Timeout: time.Minute}
	saved, _ := os.ReadFile("cursor")
	cursor := string(saved)
	for {
		answer, err := poll(client, cursor)
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		if answer.Values != nil {
			fmt.Println("state", answer.Values)
		}
		for _, change := range answer.Changes {
			fmt.Println("change", change.Key, change.New)
		}
		cursor = answer.Cursor
		if err := save(cursor); err != nil {
			log.Fatal(err)
		}
	}
}
