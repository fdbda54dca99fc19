package wire

import (
	"cmp"
	"strconv"
	"time"

	"preismon/contracts"
	"preismon/query/alert"
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
	rule.SilentFor, _ = time.ParseDuration(in.text("silentFor")) // its form was checked
	price := in.text("price")
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
	n, _ := strconv.Atoi(p.text(name))
	return n
}
