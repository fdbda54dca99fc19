// A button for what takes a while and may fail.
import * as api from './api.js';
import { Component, h } from './preact.js';

/** Act does what it is for when it is pressed, and cannot be pressed until that is done. Failed gets what went wrong in words, and nothing when it begins. */
export class Act extends Component {
  press = async ({ currentTarget: button }) => {
    const { act, failed } = this.props;
    failed('');
    this.setState({ busy: true });
    try {
      await act();
    } catch (e) {
      failed(api.said(e));
    }
    this.setState({ busy: false }, () => { if (document.activeElement === document.body) button.focus(); }); // lost by disabling
  };

  render({ act, failed, ...rest }, { busy }) {
    return <button type="button" {...rest} disabled={busy} onClick={this.press} />;
  }
}

/** Acts says what went wrong with the last of some buttons: its child is a function of what they tell as failed, and of what shows it. */
export class Acts extends Component {
  failed = (error) => this.setState({ error });

  render({ children }, { error }) { return children(this.failed, <p class="notice error" role="alert" hidden={!error}>{error}</p>); }
}
