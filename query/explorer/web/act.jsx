// A button for an action that takes a while and may fail.
import * as api from './api.js';
import { Component, h } from './preact.js';

/** Act calls act when it is pressed, and is disabled until that is done. It calls failed with the error as text, and with '' when it begins. */
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
    this.setState({ busy: false }, () => { if (document.activeElement === document.body) button.focus(); }); // disabling the button lost the focus
  };

  render({ act, failed, ...rest }, { busy }) {
    return <button type="button" {...rest} disabled={busy} onClick={this.press} />;
  }
}

/** Acts shows the last error of a group of buttons: its child is a function of their failed callback and of the element that shows the error. */
export class Acts extends Component {
  failed = (error) => this.setState({ error });

  render({ children }, { error }) { return children(this.failed, <p class="notice error" role="alert" hidden={!error}>{error}</p>); }
}
