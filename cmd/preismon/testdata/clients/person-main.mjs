// The person alone, for a client that is not a script.
// Settings: url, redirect, login, password, answer, browser.
import { person } from './person.mjs';
import { report, settings } from './report.mjs';

report(await person(settings));
