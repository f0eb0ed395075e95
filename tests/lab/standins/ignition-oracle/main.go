// Ignition-oracle asks Ignition's own parsers what they make of documents.
//
// It reads questions from standard input, one JSON object a line: the documents (base64), the second to be
// merged into the first, and the major version whose parser to ask. Each answer is one line.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strings"

	v2 "github.com/coreos/ignition/config/v2_4"
	v2types "github.com/coreos/ignition/config/v2_4/types"
	"github.com/coreos/ignition/config/validate/report"
	v3 "github.com/coreos/ignition/v2/config/v3_6_experimental"
	v3types "github.com/coreos/ignition/v2/config/v3_6_experimental/types"
	"github.com/coreos/vcontext/validate"
	"github.com/vincent-petithory/dataurl"
)

type question struct {
	Major     int      `json:"major"`
	Documents [][]byte `json:"documents"`
}

// An entry of a report. Version 2 has no paths.
type entry struct {
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

type answer struct {
	// Accepted says of each document whether the parser takes it.
	Accepted []bool    `json:"accepted"`
	Error    string    `json:"error,omitempty"`
	Entries  [][]entry `json:"entries"`
	// Sound says whether what was merged is still a valid configuration.
	Sound bool `json:"sound"`
	// Config is what was parsed, or merged, in the shape of the newest version. Data inside of sources is
	// replaced by its hash.
	Config any `json:"config,omitempty"`
}

var errCrashed = errors.New("the parser crashed")

func main() {
	log.SetFlags(0)
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	questions := json.NewDecoder(lines)
	for questions.More() {
		var asked question
		if err := questions.Decode(&asked); err != nil {
			log.Fatalf("not a question: %v", err)
		}
		ask := askVersion3
		if asked.Major == 2 {
			ask = askVersion2
		}
		if err := answers.Encode(ask(asked.Documents)); err != nil {
			log.Fatal(err)
		}
		if err := out.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}

func askVersion2(documents [][]byte) answer {
	result := answer{Sound: true}
	var merged v2types.Config
	for index, document := range documents {
		config, report, err := parseVersion2(document)
		var entries []entry
		for _, found := range report.Entries {
			entries = append(entries, entry{Kind: kind(found.String()), Message: found.Message})
		}
		result.note(entries, err, err == nil && !report.IsFatal())
		if index == 0 {
			merged = config
		} else {
			merged = v2.Append(merged, config)
		}
	}
	return result.with(merged)
}

// parseVersion2 is v2.Parse, which panics over a 2.0 document with a user name in a URL.
func parseVersion2(document []byte) (config v2types.Config, found report.Report, err error) {
	defer func() {
		if recover() != nil {
			err = errCrashed
		}
	}()
	return v2.Parse(document)
}

func askVersion3(documents [][]byte) answer {
	result := answer{}
	var merged v3types.Config
	for index, document := range documents {
		config, report, err := v3.ParseCompatibleVersion(document)
		var entries []entry
		for _, found := range report.Entries {
			entries = append(entries, entry{found.Kind.String(), found.Context.String(), found.Message})
		}
		result.note(entries, err, err == nil && !report.IsFatal())
		if index == 0 {
			merged = config
		} else {
			merged = v3.Merge(merged, config)
		}
	}
	result.Sound = !validate.Validate(merged, "json").IsFatal()
	return result.with(merged)
}

// kind is the first word of an entry's text: the type itself is not exported.
func kind(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return strings.TrimSuffix(word, ":")
}

func (a *answer) note(entries []entry, err error, accepted bool) {
	a.Accepted = append(a.Accepted, accepted)
	a.Entries = append(a.Entries, entries)
	if err != nil {
		a.Error = err.Error()
	}
}

func (a answer) with(config any) answer {
	for _, accepted := range a.Accepted {
		if !accepted {
			return a
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		log.Fatalf("a configuration that cannot be written: %v", err)
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&a.Config); err != nil {
		log.Fatal(err)
	}
	a.Config = hashed(a.Config)
	return a
}

// hashed replaces the data URLs of sources by hashes of what is inside, as the library decodes it.
func hashed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			if url, ok := item.(string); ok && key == "source" && strings.HasPrefix(url, "data:") {
				if decoded, err := dataurl.DecodeString(url); err == nil {
					sum := sha256.Sum256(decoded.Data)
					value[key] = "sha256:" + hex.EncodeToString(sum[:])
				}
				continue
			}
			value[key] = hashed(item)
		}
	case []any:
		for index, item := range value {
			value[index] = hashed(item)
		}
	}
	return value
}
