package cli

import (
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/profile"
)

// tenantValue is the value of --tenant.
type tenantValue struct{ name *string }

// AddTenant adds the flag --tenant. help says what NAME is for.
func AddTenant(flags *pflag.FlagSet, name *string, help string) {
	flags.Var(tenantValue{name}, "tenant", help)
}

// String implements pflag.Value.
func (v tenantValue) String() string { return *v.name }

// Type implements pflag.Value.
func (v tenantValue) Type() string { return "NAME" }

// Set implements pflag.Value.
func (v tenantValue) Set(text string) error {
	err := profile.CheckTenant(text)
	if err == nil {
		*v.name = text
	}
	return err
}
