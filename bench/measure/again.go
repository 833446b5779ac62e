package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Again starts this program once more, with the same arguments and a variable of the environment, and reads into
// figures the JSON that it prints. What is measured in a process of its own inherits no heap. Its errors go where
// this program's go.
func Again(variable, value string, figures any) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, figures); err != nil {
		return fmt.Errorf("read its figures: %w", err)
	}
	return nil
}
