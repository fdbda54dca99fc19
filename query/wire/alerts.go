package wire

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"preismon/contracts"
	"preismon/query/alert"
)

var (
	amountForm = regexp.MustCompile(`^[0-9]{1,14}(\.[0-9]{1,4})?$`)
	wholeForm  = regexp.MustCompile(`^[1-9][0-9]?$`)
	hoursForm  = regexp.MustCompile(`^([1-9]|[1-9][0-9]|1[0-5][0-9]|16[0-8])h$`)
)

// DecodeAlerts reads the parameters of a request for alerts.
func DecodeAlerts(in *Params) (Feed, error) {
	f := feedParameters(in)
	f.Alerts = true
	f.Rows = selected(in)
	f.Rows.Timezone = in.text("timezone")
	rule := alert.Rule{
		Kind: alert.Kind(in.text("rule")), OwnMerchant: in.text("ownMerchant"), Currency: contracts.Currency(in.text("currencyCode")),
		Percent: in.whole("percent"), Confirm: in.whole("confirm"), Rearm: in.whole("rearmPercent"),
	}
	rule.SilentFor, _ = time.ParseDuration(in.form("silentFor", hoursForm.MatchString, "a number of whole hours, 1h to 168h")) // its form was checked
	price := in.form("price", amountForm.MatchString, "an amount like 12.34")
	if (price == "") != (rule.Currency == "") {
		in.fault("price and currencyCode go together.")
	} else if price != "" {
		amount, err := contracts.ParseMoney(price, rule.Currency)
		if err != nil {
			in.fault("price: %s.", err)
		}
		rule.Price = amount.AmountMinor
	}
	if rule != (alert.Rule{}) {
		rule.Confirm = cmp.Or(rule.Confirm, 1)
		f.Rule = &rule
	}
	return f, in.Err()
}

// whole reads a whole number of one or two digits; 0: not given.
func (p *Params) whole(name string) int {
	n, _ := strconv.Atoi(p.form(name, wholeForm.MatchString, "a whole number from 1 to 99"))
	return n
}
