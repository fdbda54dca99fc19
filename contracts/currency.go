package contracts

import "strings"

// Currency is an ISO 4217 alphabetic code in upper case.
type Currency string

// Valid reports whether the code is an active ISO 4217 currency.
func (c Currency) Valid() bool {
	_, ok := currencyDigits[c]
	return ok
}

// Digits returns the number of decimal digits of the minor unit (ISO 4217, list
// one): 2 for EUR, 0 for JPY, 3 for KWD, and 2 for an unknown code.
func (c Currency) Digits() int {
	if d, ok := currencyDigits[c]; ok {
		return int(d)
	}
	return 2
}

// Currencies returns every active code with its digits, for tests and tables.
func Currencies() map[Currency]int {
	all := make(map[Currency]int, len(currencyDigits))
	for c, d := range currencyDigits {
		all[c] = int(d)
	}
	return all
}

// currencyDigits holds the active codes of ISO 4217 list one with the digits of
// their minor unit. Codes without a minor unit (metals, funds units, testing)
// are left out: no price has them.
var currencyDigits = func() map[Currency]uint8 {
	digits := make(map[Currency]uint8, 170)
	for d, codes := range []string{
		0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
		2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
			CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
			GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD
			MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP
			PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
			TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
		3: "BHD IQD JOD KWD LYD OMR TND",
		4: "CLF UYW",
	} {
		for c := range strings.FieldsSeq(codes) {
			digits[Currency(c)] = uint8(d)
		}
	}
	return digits
}()
