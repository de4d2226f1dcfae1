import './base.css';
import './controls.css';
import './form.css';
import './containers.css';
import './scale.css';
import './messages.css';
